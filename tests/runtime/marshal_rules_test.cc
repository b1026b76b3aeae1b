// Bytes that break one rule of the format but have the right checksum, as an attacker would send
// them; and values, which obey it.  tests/fuzz/marshal.cc breaks any rule.
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/marshal/marshal_format.h"
#include "runtime/marshal.h"
#include "tests/runtime/marshal_graphs.h"

namespace allomon::gc {
namespace {

using internal::MarshalChecksum;
using internal::MarshalHeader;
using testing::Node;
using testing::NodeTypes;

// Makes the header agree with the contents again.
void Seal(std::string* bytes) {
  MarshalHeader header;
  ASSERT_GE(bytes->size(), sizeof(header));
  memcpy(&header, bytes->data(), sizeof(header));
  header.length_bytes = bytes->size();
  header.checksum = MarshalChecksum(std::string_view(*bytes).substr(sizeof(header)));
  memcpy(bytes->data(), &header, sizeof(header));
}

void AddNumber(std::string* bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes->push_back(static_cast<char>(value | 0x80));
  bytes->push_back(static_cast<char>(value));
}

class MarshalRulesTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    return options;
  }

  // Returns the head of a file with one Bytes, one Array and one Node type, for contents made by
  // hand.  (The root is an array.)
  std::string Start() {
    const std::string sample = *marshal<Array<Node>>(make_array<Node>(0), types_);
    std::string bytes = sample.substr(0, sizeof(MarshalHeader));
    AddNumber(&bytes, 1);
    // The name and the fingerprint, copied from the sample.
    bytes += sample.substr(bytes.size(), 1 + 5 + 8);
    return bytes;
  }
  absl::Status ReadArray(std::string bytes) {
    Seal(&bytes);
    const uint64_t before = heap_->statistics().allocated_words;
    const absl::Status status = unmarshal<Array<Node>>(bytes, types_).status();
    if (!status.ok()) {
      EXPECT_EQ(heap_->statistics().allocated_words, before);
    }
    return status;
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
  const MarshalTypes types_ = NodeTypes();
};

// Files of 50 bytes that declare 2^60 references, or 2^60 objects, or many arrays whose lengths add
// up to more than the file has.
TEST_F(MarshalRulesTest, DeclaredSizesAreCheckedBeforeAnythingIsTaken) {
  for (const uint64_t length : {uint64_t{100}, uint64_t{1} << 32, uint64_t{1} << 60, UINT64_MAX}) {
    std::string bytes = Start();
    AddNumber(&bytes, 1);
    AddNumber(&bytes, 0);
    AddNumber(&bytes, length);
    EXPECT_NE(ReadArray(bytes).message().find("longer than what is left"), std::string::npos);

    bytes = Start();
    AddNumber(&bytes, length);
    AddNumber(&bytes, 0);
    EXPECT_NE(ReadArray(bytes).message().find("number of objects"), std::string::npos);
  }
  std::string bytes = Start();
  AddNumber(&bytes, 1000);
  for (int i = 0; i < 1000; ++i) {
    AddNumber(&bytes, 0);
    AddNumber(&bytes, 1000);
  }
  bytes.append(2000, '\0');
  EXPECT_NE(ReadArray(bytes).message().find("longer than what is left"), std::string::npos);
}

TEST_F(MarshalRulesTest, EachRuleOfTheFormatIsChecked) {
  const auto array = [this](std::initializer_list<int> contents) {
    std::string bytes = Start();
    for (const int byte : contents) bytes.push_back(static_cast<char>(byte));
    return ReadArray(bytes);
  };
  EXPECT_TRUE(array({0}).ok());                           // null
  EXPECT_TRUE(array({1, 0, 0}).ok());                     // an empty array
  EXPECT_TRUE(array({1, 0, 2, 0, 0}).ok());               // two nulls
  EXPECT_FALSE(array({}).ok());                           // no number of objects
  EXPECT_FALSE(array({1}).ok());                          // no head
  EXPECT_FALSE(array({1, 1, 0}).ok());                    // a type that is not in the table
  EXPECT_FALSE(array({1, 0, 0, 0}).ok());                 // a byte too many
  EXPECT_FALSE(array({1, 0, 2, 0}).ok());                 // a byte too few
  EXPECT_FALSE(array({1, 0, 0x80, 0x00}).ok());           // a number longer than it needs
  EXPECT_FALSE(array({2, 0, 0, 0, 0}).ok());              // an object without a reference to it
  EXPECT_FALSE(array({1, 0, 1, 2}).ok());                 // a reference to object 2 of 1
  EXPECT_FALSE(array({1, 0, 1, 1}).ok());                 // an array where a node is declared
  EXPECT_FALSE(array({3, 0, 2, 0, 0, 0, 0, 3, 2}).ok());  // 3 before 2
}

// Reading a bool of value 2 is undefined behaviour.
TEST_F(MarshalRulesTest, BoolsAreZeroOrOne) {
  Local<Node> node = make<Node>();
  node->flag = true;
  std::string bytes = *marshal<Node>(node, types_);
  const size_t at = bytes.find(std::string("\0\0\0\0\0\0\0\0\1", 9)) + 8;
  for (int value = 0; value < 256; ++value) {
    bytes[at] = static_cast<char>(value);
    Seal(&bytes);
    ASSERT_EQ(unmarshal<Node>(bytes, types_).ok(), value < 2) << value;
  }
}

// Values, wider references and numbers in marshalled graphs.

struct Pair {
  Field<Value> first;
  long number;
  Field<Value> rest;
};
struct Figure {
  static constexpr bool kIsBase = true;
  double area;
};
struct Square {
  using Extends = Figure;
  Figure figure;
  double side;
};
struct Holder {
  Field<Figure> figure;
  Field<Any> any;
};

class ValueMarshalTest : public ::testing::Test {
 protected:
  ValueMarshalTest() {
    types_.Add<Pair>("pair").Add<Array<Value>>("values").Add<Bytes>("bytes").Add<Holder>("holder");
    types_.Add<Square>("square").Add<Numbers<double>>("doubles").Add<Array<Pair>>("pairs");
  }

  template <typename T>
  std::string Write(Handle<T> root) {
    return marshal<T>(root, types_).value();
  }

  const std::unique_ptr<Heap> heap_ = Heap::Create().value();
  const Mutator mutator_{*heap_};
  MarshalTypes types_;
};

TEST_F(ValueMarshalTest, NumbersAndReferencesComeBackAsTheyWere) {
  const Local<Array<Value>> values = make_array<Value>(10);
  values->at(0) = Value::Int(-5);
  values->at(1) = Value::Double(0.1);
  values->at(2) = Value::Bool(true);
  values->at(3) = Value::Bool(false);
  values->at(4) = make_bytes("text");
  values->at(5) = values->at(4);
  values->at(6) = Value::Constant(3);
  values->at(7) = Value::Double(std::nan(""));
  values->at(8) = make<Pair>(values, 7L, Value::Int(internal::kMostInt));
  const std::string bytes = Write<Array<Value>>(values);
  const Local<Array<Value>> copy = unmarshal<Array<Value>>(bytes, types_).value();
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(copy->at(0).to_int(), -5);
  EXPECT_EQ(copy->at(1).to_double(), 0.1);
  EXPECT_EQ(copy->at(2), Value::Bool(true));
  EXPECT_EQ(copy->at(3), Value::Bool(false));
  EXPECT_EQ(copy->at(4).cast<Bytes>()->view(), "text");
  EXPECT_EQ(copy->at(5), copy->at(4));
  EXPECT_EQ(copy->at(6), Value::Constant(3));
  EXPECT_TRUE(std::isnan(copy->at(7).to_double()));
  EXPECT_EQ(copy->at(8).cast<Pair>()->first, copy);
  EXPECT_EQ(copy->at(8).cast<Pair>()->rest.to_int(), internal::kMostInt);
  EXPECT_TRUE(copy->at(9).is_null());
  EXPECT_EQ(Write<Array<Value>>(copy), bytes);
}

TEST_F(ValueMarshalTest, AWiderReferenceIsToTheNarrowType) {
  const Local<Square> square = make<Square>(Figure{4.0}, 2.0);
  const Local<Holder> holder = make<Holder>(square, make_numbers<double>(3));
  holder->any.cast<Numbers<double>>()->at(2) = 1.5;
  const std::string bytes = Write<Holder>(holder);
  const Local<Any> copy = unmarshal<Any>(bytes, types_).value();
  EXPECT_EQ(copy.cast<Holder>()->figure.cast<Square>()->side, 2.0);
  EXPECT_EQ(copy.cast<Holder>()->any.cast<Numbers<double>>()->at(2), 1.5);
  EXPECT_FALSE(unmarshal<Pair>(bytes, types_).ok());
}

// Otherwise forged bytes could make any address a reference.
TEST_F(ValueMarshalTest, AnAddressIsNoNumber) {
  const Local<Pair> pair = make<Pair>(Value::Int(1), 0L, nullptr);
  const std::string good = Write<Pair>(pair);
  uint64_t word = internal::kIntZero + 1;
  const size_t at = good.find(std::string(reinterpret_cast<char*>(&word), 8));
  ASSERT_NE(at, std::string::npos);
  for (const uint64_t bad : {uint64_t{0}, uint64_t{4}, uint64_t{4096}, uint64_t{0x7f0000000000},
                             uint64_t{0xfff5} << 48, internal::kFirstDouble + 0x7ff0000000000001}) {
    std::string forged = good;
    memcpy(forged.data() + at, &bad, 8);
    internal::MarshalHeader header;
    memcpy(&header, forged.data(), sizeof(header));
    header.checksum = internal::MarshalChecksum(std::string_view(forged).substr(sizeof(header)));
    memcpy(forged.data(), &header, sizeof(header));
    const auto copy = unmarshal<Pair>(forged, types_);
    ASSERT_FALSE(copy.ok()) << bad;
    EXPECT_NE(copy.status().message().find("a Value that is no number"), std::string::npos)
        << copy.status();
  }
}

TEST_F(ValueMarshalTest, EveryDamagedByteIsRefusedOrAnotherGraph) {
  const Local<Array<Value>> values = make_array<Value>(4);
  values->at(0) = Value::Double(2.5);
  values->at(1) = make<Pair>(values, 7L, Value::Int(3));
  const std::string good = Write<Array<Value>>(values);
  for (size_t i = sizeof(internal::MarshalHeader); i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string forged = good;
      forged[i] = static_cast<char>(forged[i] ^ 1 << bit);
      internal::MarshalHeader header;
      memcpy(&header, forged.data(), sizeof(header));
      header.checksum = internal::MarshalChecksum(std::string_view(forged).substr(sizeof(header)));
      memcpy(forged.data(), &header, sizeof(header));
      const auto copy = unmarshal<Any>(forged, types_);
      heap_->Collect(CollectionKind::kMajor);  // would meet a bad reference
    }
  }
}

TEST_F(ValueMarshalTest, WhatCannotBeWrittenIsNamed) {
  const Local<Value> number = Value::Int(1);
  EXPECT_NE(marshal<Value>(number, types_).status().message().find("the root is a number"),
            std::string::npos);
  const Local<Value> shaped = make_shaped(Shape::Define("Point", {Shape::kValue}));
  EXPECT_NE(marshal<Value>(shaped, types_).status().message().find("'Point', an object of a shape"),
            std::string::npos);
}

}  // namespace
}  // namespace allomon::gc

// Values, wider references and numbers in marshalled graphs.
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/marshal/marshal_format.h"
#include "runtime/marshal.h"

namespace allomon::gc {
namespace {

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

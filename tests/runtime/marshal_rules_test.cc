// Bytes that break one rule of the format but have the right checksum, as an attacker would send
// them.  tests/fuzz/marshal.cc breaks any rule.
#include <cstring>
#include <string>

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

}  // namespace
}  // namespace allomon::gc

// Bytes that are wrong but carry the right checksum, as an attacker would send them.
//
// The graph of accepted bytes must pass the heap's verifier.  It must be written back in the one
// way in which it can be written.
#include <algorithm>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/marshal_format.h"
#include "runtime/marshal.h"
#include "tests/runtime/marshal_graphs.h"

namespace allomon::gc {
namespace {

using internal::MarshalChecksum;
using internal::MarshalHeader;
using testing::Node;
using testing::NodeTypes;
using testing::RandomGraph;

// Makes header and contents agree again.
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

class MarshalFuzzTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    return options;
  }

  // Returns an empty string if the bytes are refused, else the bytes that the graph is written as.
  std::string ReadAndWrite(const std::string& bytes) {
    const uint64_t before = heap_->statistics().allocated_words;
    const auto graph = unmarshal<Node>(bytes, types_);
    const uint64_t words = heap_->statistics().allocated_words - before;
    if (!graph.ok()) {
      EXPECT_EQ(words, 0u) << "something was made of bad bytes";
      return "";
    }
    EXPECT_LE(words * 8, bytes.size() * 40);
    return marshal<Node>(*graph, types_).value();
  }

  // Returns the head of a file with one Bytes, one Array and one Node type, for contents made by
  // hand.  (The root is an array.)
  std::string Start() {
    const std::string sample = *marshal<Array<Node>>(make_array<Node>(0), types_);
    std::string bytes = sample.substr(0, sizeof(MarshalHeader));
    AddNumber(&bytes, 1);
    // The name and the fingerprint, as the sample has them.
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

// A file of 50 bytes that declares 2^60 references, or 2^60 objects, or many arrays whose lengths
// add up to more than there is.
TEST_F(MarshalFuzzTest, DeclaredSizesAreCheckedBeforeAnythingIsTaken) {
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

TEST_F(MarshalFuzzTest, EachRuleOfTheFormatIsChecked) {
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
TEST_F(MarshalFuzzTest, BoolsAreZeroOrOne) {
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

// A fixed number of rounds, which takes some seconds without sanitizers.
TEST_F(MarshalFuzzTest, MutatedGraphs) {
  std::mt19937_64 random(1);
  int accepted = 0;
  for (int round = 0; round < 1600 / testing::kSlower; ++round) {
    const std::string original = *marshal<Node>(RandomGraph(random, 1 + random() % 30), types_);
    for (int i = 0; i < 300; ++i) {
      std::string bytes = original;
      const size_t body = sizeof(MarshalHeader);
      for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
        const size_t at = body + random() % (bytes.size() - body);
        switch (random() % 6) {
          case 0:
            bytes[at] = static_cast<char>(random());
            break;
          case 1:
            bytes[at] = static_cast<char>(bytes[at] + (random() % 2 != 0 ? 1 : -1));
            break;
          case 2:
            bytes.erase(at, 1 + random() % 8);
            break;
          case 3:
            bytes.insert(at, 1 + random() % 8, static_cast<char>(random() % 4));
            break;
          case 4: {  // appends a copy of one part
            const size_t length = std::min<size_t>(1 + random() % 30, bytes.size() - at);
            bytes += bytes.substr(at, length);
            break;
          }
          default:
            std::swap(bytes[at], bytes[body + random() % (bytes.size() - body)]);
        }
        if (bytes.size() <= body) break;
      }
      if (bytes.size() <= body) continue;
      Seal(&bytes);
      const std::string written = ReadAndWrite(bytes);
      if (written.empty()) continue;
      ++accepted;
      ASSERT_EQ(ReadAndWrite(written), written);
    }
    heap_->Collect(CollectionKind::kMinor);
  }
  // If fewer graphs were accepted, the mutations would be too coarse to reach the builder.
  EXPECT_GT(accepted, 1000 / testing::kSlower);
}

}  // namespace
}  // namespace allomon::gc

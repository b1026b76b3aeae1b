// Round trips of object graphs, and bytes that are refused.
#include "runtime/marshal.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/weak.h"
#include "tests/runtime/marshal_graphs.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using testing::Node;
using testing::NodeTypes;
using testing::RandomGraph;
using testing::SameGraph;

struct Cell {
  long head;
  Field<Cell> tail;
};

struct Leaf {};

struct Holder {
  Field<Leaf> leaf;
  Field<CustomBlock> custom;
  Field<WeakRef<Cell>> weak;
  Field<Cell> cell;
};

struct Wide {
  long before[3];
  Field<Cell> cells[70];
  int behind;
};

// The data of Cell in another order, as after a change of the struct.
struct ReorderedCell {
  Field<ReorderedCell> tail;
  long head;
};
struct UnsignedCell {
  unsigned long head;
  Field<UnsignedCell> tail;
};

struct Flags {
  bool a, b, c;
};

constexpr size_t kWideReferences = 70;
constexpr auto kWideOffsets = [] {
  std::array<size_t, kWideReferences> offsets{};
  for (size_t i = 0; i < kWideReferences; ++i) offsets[i] = 24 + 8 * i;
  return offsets;
}();

}  // namespace

template <>
struct ReferencesOf<Wide> {
  static constexpr auto kOffsetsBytes = kWideOffsets;
  using Targets = std::tuple<Cell>;
};

namespace {

MarshalTypes CellTypes() {
  MarshalTypes types;
  types.Add<Cell>("cell").Add<Array<Cell>>("cells").Add<Bytes>("bytes").Add<Leaf>("leaf");
  types.Add<Holder>("holder").Add<Wide>("wide").Add<Flags>("flags");
  return types;
}

class MarshalTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    return options;
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
  const MarshalTypes types_ = CellTypes();
};

Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}

TEST_F(MarshalTest, NullRoot) {
  const auto bytes = marshal<Cell>(nullptr, types_);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->size(), 34u);
  const auto copy = unmarshal<Cell>(*bytes, types_);
  ASSERT_TRUE(copy.ok());
  EXPECT_FALSE(*copy);
}

// The example of MARSHAL.md, byte by byte.  Bytes once written must stay readable for ever.
TEST_F(MarshalTest, BytesAreThoseOfTheDocument) {
  const auto bytes = marshal<Cell>(make<Cell>(5, make<Cell>(-1, nullptr)), types_);
  ASSERT_TRUE(bytes.ok());
  std::string hex;
  for (const char byte : *bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(byte) / 16];
    hex += kDigits[static_cast<unsigned char>(byte) % 16];
  }
  EXPECT_EQ(hex,
            "89414c4d47430d0a"
            "01000000"
            "00000000"
            "4300000000000000"
            "d9070ed4cb6a6581"
            "01"
            "0463656c6c"
            "cefb65ecc5d87103"
            "02"
            "00"
            "00"
            "02"
            "0500000000000000"
            "00"
            "ffffffffffffffff");
}

TEST_F(MarshalTest, SharingAndCyclesAreKept) {
  Local<Cell> a = make<Cell>(1, nullptr);
  Local<Cell> b = make<Cell>(2, a);
  a->tail = b;
  Local<Array<Cell>> root = make_array<Cell>(4);
  root->at(0) = b;
  root->at(1) = a;
  root->at(3) = b;
  const auto bytes = marshal<Array<Cell>>(root, types_);
  ASSERT_TRUE(bytes.ok());
  const auto copy = unmarshal<Array<Cell>>(*bytes, types_);
  ASSERT_TRUE(copy.ok());
  const Local<Array<Cell>> read = *copy;
  EXPECT_NE(read, root);
  EXPECT_TRUE(read->at(0) == read->at(3));
  EXPECT_TRUE(read->at(0)->tail == read->at(1));
  EXPECT_TRUE(read->at(1)->tail == read->at(0));
  EXPECT_FALSE(read->at(2));
  EXPECT_EQ(read->at(0)->head, 2);
  EXPECT_EQ(read->at(1)->head, 1);
}

TEST_F(MarshalTest, EmptyThings) {
  const auto array = marshal<Array<Cell>>(make_array<Cell>(0), types_);
  EXPECT_EQ((*unmarshal<Array<Cell>>(*array, types_))->length(), 0u);
  const auto text = marshal<Bytes>(make_bytes(0), types_);
  EXPECT_EQ((*unmarshal<Bytes>(*text, types_))->length(), 0u);
  const auto leaf = marshal<Leaf>(make<Leaf>(), types_);
  EXPECT_TRUE(*unmarshal<Leaf>(*leaf, types_));
}

TEST_F(MarshalTest, LargeArraysAndBytesAreBornOld) {
  for (const size_t length : {1022, 1023, 1024, 1025, 100000}) {
    Local<Array<Cell>> array = make_array<Cell>(length);
    for (size_t i = 0; i < length; i += 3) array->at(i) = make<Cell>(static_cast<long>(i), nullptr);
    const auto bytes = marshal<Array<Cell>>(array, types_);
    ASSERT_TRUE(bytes.ok());
    const Local<Array<Cell>> copy = *unmarshal<Array<Cell>>(*bytes, types_);
    heap_->Collect(CollectionKind::kMajor);
    ASSERT_EQ(copy->length(), length);
    for (size_t i = 0; i < length; ++i) {
      ASSERT_EQ(static_cast<bool>(copy->at(i)), i % 3 == 0);
      if (i % 3 == 0) {
        ASSERT_EQ(copy->at(i)->head, static_cast<long>(i));
      }
    }
  }
  const std::string text(300000, 'q');
  const auto bytes = marshal<Bytes>(make_bytes(text), types_);
  EXPECT_EQ((*unmarshal<Bytes>(*bytes, types_))->view(), text);
}

TEST_F(MarshalTest, ListedReferencesAreFollowed) {
  Local<Wide> wide = make<Wide>();
  wide->before[2] = 7;
  wide->behind = 8;
  wide->cells[0] = MakeList(3);
  wide->cells[69] = wide->cells[0];
  const auto bytes = marshal<Wide>(wide, types_);
  ASSERT_TRUE(bytes.ok());
  const Local<Wide> copy = *unmarshal<Wide>(*bytes, types_);
  EXPECT_EQ(copy->before[2] + copy->behind, 15);
  EXPECT_EQ(copy->cells[0]->tail->tail->head, 0);
  EXPECT_TRUE(copy->cells[69] == copy->cells[0]);
  EXPECT_FALSE(copy->cells[1]);
}

TEST_F(MarshalTest, RandomGraphs) {
  const MarshalTypes types = NodeTypes();
  std::mt19937_64 random(1);
  for (size_t size = 1; size < 120; ++size) {
    const Local<Node> graph = RandomGraph(random, size);
    const auto bytes = marshal<Node>(graph, types);
    ASSERT_TRUE(bytes.ok());
    const auto copy = unmarshal<Node>(*bytes, types);
    ASSERT_TRUE(copy.ok()) << copy.status();
    SameGraph same;
    ASSERT_TRUE(same(graph, *copy)) << size;
    EXPECT_EQ(*marshal<Node>(*copy, types), *bytes);
  }
}

// A recursive reader would need some 500 MB of stack for ten million cells.  Even the sixteenth of
// the list under a sanitizer would need four stacks.
TEST_F(MarshalTest, DeepListNeedsNoStack) {
  std::string bytes;
  constexpr long length = 10000000 / testing::kSlower;
  std::thread([this, &bytes] {
    HeapOptions options;
    const auto heap = Heap::Create(options).value();
    const Mutator mutator(*heap);
    bytes = *marshal<Cell>(MakeList(length), types_);
    Local<Cell> cell = *unmarshal<Cell>(bytes, types_);
    for (long i = length; i-- > 0; cell = cell->tail) {
      if (!cell || cell->head != i) FAIL() << "cell " << i;
    }
    EXPECT_FALSE(cell);
  }).join();
  EXPECT_GT(bytes.size(), static_cast<size_t>(length) * 10);
}

// Every allocation of the reader moves the objects that it has made so far.
TEST_F(MarshalTest, StressWhileReading) {
  std::thread([] {
    HeapOptions options;
    ASSERT_TRUE(options.Parse("nursery=64K,stress=1,verify").ok());
    const auto heap = Heap::Create(options).value();
    const Mutator mutator(*heap);
    const MarshalTypes types = NodeTypes();
    std::mt19937_64 random(2);
    const Local<Node> graph = RandomGraph(random, 60);
    const auto bytes = marshal<Node>(graph, types);
    ASSERT_TRUE(bytes.ok());
    const auto copy = unmarshal<Node>(*bytes, types);
    ASSERT_TRUE(copy.ok());
    SameGraph same;
    EXPECT_TRUE(same(graph, *copy));
  }).join();
}

// One thread reads and writes while the other collects continuously.
TEST_F(MarshalTest, CollectionsOfOtherThreadsMeanwhile) {
  std::atomic<bool> done{false};
  std::thread collector([this, &done] {
    const Mutator mutator(*heap_);
    for (int i = 0; !done; ++i) {
      heap_->Collect(i % 4 == 0 ? CollectionKind::kMajor : CollectionKind::kMinor);
    }
  });
  const MarshalTypes types = NodeTypes();
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    const Local<Node> graph = RandomGraph(random, 150);
    const auto bytes = marshal<Node>(graph, types);
    const auto copy = unmarshal<Node>(*bytes, types);
    SameGraph same;
    ASSERT_TRUE(copy.ok() && same(graph, *copy));
  }
  done = true;
  const NativeRegion native;
  collector.join();
}

// Old contents of the padding are not written.
TEST_F(MarshalTest, PaddingIsNotWritten) {
  const MarshalTypes types = NodeTypes();
  // The bytes are: letter and real, flag and small, id, colour, and three references of one byte.
  const auto bytes = marshal<Node>(make<Node>(), types);
  const auto empty = marshal<Node>(nullptr, types);
  EXPECT_EQ(bytes->size() - empty->size(), (1 + 4 + 8) + 1 + 3 + 9 + 5 + 8 + 1);
}

TEST_F(MarshalTest, WhatCannotBeWrittenIsNamed) {
  const Local<Holder> holder = make<Holder>();
  holder->custom = make_custom(nullptr, 10, [](void*) {});
  auto bytes = marshal<Holder>(holder, types_);
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(bytes.status().message().find("CustomBlock"), std::string::npos) << bytes.status();
  holder->custom = nullptr;
  holder->weak = make_weak<Cell>(nullptr);
  bytes = marshal<Holder>(holder, types_);
  EXPECT_NE(bytes.status().message().find("weak reference"), std::string::npos) << bytes.status();
  holder->weak = nullptr;
  ASSERT_TRUE(marshal<Holder>(holder, types_).ok());
  holder->cell = make<Cell>(1, nullptr);
  MarshalTypes fewer;
  fewer.Add<Holder>("holder");
  bytes = marshal<Holder>(holder, fewer);
  EXPECT_NE(bytes.status().message().find("Cell' is not registered"), std::string::npos)
      << bytes.status();
}

// Writes `Written` as "cell" and reads it as a `Read` of that name.
template <typename Written, typename Read>
absl::Status WriteAsReadAs() {
  MarshalTypes writer, reader;
  writer.Add<Written>("cell");
  reader.Add<Read>("cell");
  return unmarshal<Read>(*marshal<Written>(make<Written>(), writer), reader).status();
}

TEST_F(MarshalTest, StructThatHasChangedIsRefused) {
  EXPECT_TRUE((WriteAsReadAs<Cell, Cell>()).ok());
  for (const absl::Status& status :
       {WriteAsReadAs<Cell, ReorderedCell>(), WriteAsReadAs<Cell, UnsignedCell>(),
        WriteAsReadAs<Leaf, Cell>(), WriteAsReadAs<Cell, Leaf>()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(status.message(),
              "unmarshal: type 'cell' has another layout here than where it was written");
  }
}

TEST_F(MarshalTest, TypesMustBeKnownToTheReader) {
  const auto bytes = marshal<Cell>(MakeList(2), types_);
  EXPECT_EQ(unmarshal<Cell>(*bytes, MarshalTypes()).status().message(),
            "unmarshal: type 'cell' is not registered");
  EXPECT_EQ(unmarshal<Leaf>(*bytes, types_).status().message(),
            "unmarshal: the root is not of the type asked for");
}

// An attacker's name must not affect the terminal or the log that shows the error.
TEST_F(MarshalTest, NameOfAnUnknownTypeIsShownInOneLine) {
  const std::string name = "\033[2J\n\r\xc2\x9b" + std::string(5000, 'x');
  MarshalTypes writer;
  writer.Add<Cell>(name);
  const absl::Status status =
      unmarshal<Cell>(*marshal<Cell>(make<Cell>(), writer), types_).status();
  const std::string message(status.message());
  EXPECT_EQ(message.rfind("unmarshal: type '?[2J????xxx", 0), 0u) << message;
  EXPECT_NE(message.find("xxx...' is not registered"), std::string::npos) << message;
  EXPECT_LT(message.size(), 300u);
}

TEST_F(MarshalTest, TruncatedBytesAreRefusedWhereverTheyEnd) {
  const MarshalTypes types = NodeTypes();
  std::mt19937_64 random(4);
  const auto bytes = marshal<Node>(RandomGraph(random, 12), types);
  const uint64_t before = heap_->statistics().allocated_words;
  for (size_t length = 0; length < bytes->size(); ++length) {
    const absl::Status status = unmarshal<Node>(bytes->substr(0, length), types).status();
    ASSERT_EQ(status.code(),
              length < 8 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kDataLoss)
        << length;
  }
  EXPECT_FALSE(unmarshal<Node>(*bytes + 'x', types).ok());
  EXPECT_EQ(heap_->statistics().allocated_words, before) << "something was made of bad bytes";
}

TEST_F(MarshalTest, EverySingleByteMutationIsRefused) {
  const MarshalTypes types = NodeTypes();
  std::mt19937_64 random(5);
  for (const size_t size : {1, 5}) {
    const auto bytes = marshal<Node>(RandomGraph(random, size), types);
    const uint64_t before = heap_->statistics().allocated_words;
    for (size_t i = 0; i < bytes->size(); ++i) {
      for (int flip = 1; flip < 256; flip += testing::kSlower) {
        std::string mutated = *bytes;
        mutated[i] = static_cast<char>(mutated[i] ^ flip);
        ASSERT_FALSE(unmarshal<Node>(mutated, types).ok()) << "byte " << i << " ^ " << flip;
      }
    }
    EXPECT_EQ(heap_->statistics().allocated_words, before);
  }
}

TEST_F(MarshalTest, OtherFilesAreRefused) {
  for (const std::string& text : {std::string(), std::string("MLton prof\n"), std::string(100, 0),
                                  std::string("\x89PNG\r\n\x1a\n and more")}) {
    EXPECT_EQ(unmarshal<Cell>(text, types_).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

// A heap that becomes full during a read afterwards is as before, and remains usable.
TEST_F(MarshalTest, HeapThatIsFullInTheMiddle) {
  const std::string bytes = *marshal<Cell>(MakeList(100000), types_);
  std::thread([this, &bytes] {
    HeapOptions options = Options();
    options.limit_bytes = 2 << 20;
    const auto heap = Heap::Create(options).value();
    const Mutator mutator(*heap);
    const Root<Cell> kept = MakeList(1000);
    for (int round = 0; round < 3; ++round) {
      EXPECT_THROW(unmarshal<Cell>(bytes, types_).IgnoreError(), std::bad_alloc);
    }
    heap->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(heap->statistics().old_words, 3000u);
    EXPECT_EQ(kept->tail->head, 998);
    const auto small = marshal<Cell>(kept, types_);
    EXPECT_TRUE(unmarshal<Cell>(*small, types_).ok());
  }).join();
}

TEST_F(MarshalTest, RegisteringTwiceIsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(MarshalTypes().Add<Cell>("a").Add<Leaf>("a"), "rule.marshal");
  EXPECT_DEATH(MarshalTypes().Add<Cell>("a").Add<Cell>("b"), "rule.marshal");
}

}  // namespace
}  // namespace allomon::gc

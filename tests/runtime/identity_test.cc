// Identity hashes survive moves, and keep objects movable.
#include "runtime/identity.h"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/pinned.h"
#include "runtime/weak.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

class IdentityTest : public ::testing::TestWithParam<const char*> {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.verify = true;
    EXPECT_TRUE(options.Parse(GetParam()).ok());
    return options;
  }
  const std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  const Mutator mutator_{*heap_};
};
INSTANTIATE_TEST_SUITE_P(, IdentityTest, ::testing::Values("growth=100", "stress=1"),
                         [](const auto& info) { return info.index == 0 ? "Usual" : "Stress"; });

TEST_P(IdentityTest, AHashOutlivesMovesAndCollections) {
  const Local<Array<Cell>> cells = make_array<Cell>(500);
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < cells->length(); ++i) {
    cells->at(i) = make<Cell>(static_cast<long>(i), nullptr);
    if (i % 5 == 0) heap_->Collect(CollectionKind::kMinor);  // this one is old when it is asked
    hashes.push_back(identity_hash(cells->at(i)));
  }
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < cells->length(); ++i) {
      ASSERT_EQ(identity_hash(cells->at(i)), hashes[i]) << i;
      ASSERT_EQ(identity_hash(Local<Value>(cells->at(i))), hashes[i]);
    }
    heap_->Collect(round == 2 ? CollectionKind::kMinor : CollectionKind::kMajor);
  }
  EXPECT_EQ(std::set<uint64_t>(hashes.begin(), hashes.end()).size(), hashes.size());
}

// A remaining entry of a dead object would give its hash to the next object at its address, until a
// collection removed the entry.
TEST_P(IdentityTest, AnAddressThatIsUsedAgainKeepsNoHash) {
  for (int round = 0; round < 20; ++round) {
    const Local<Array<Cell>> cells = make_array<Cell>(300);
    std::vector<uint64_t> hashes;
    for (size_t i = 0; i < cells->length(); ++i) {
      cells->at(i) = make<Cell>(0L, nullptr);
      if (i % 2 == 0) identity_hash(cells->at(i));
      make<Cell>(0L, nullptr);
    }
    heap_->Collect(CollectionKind::kMinor);
    for (size_t i = 0; i < cells->length(); ++i) hashes.push_back(identity_hash(cells->at(i)));
    heap_->Collect(CollectionKind::kMajor);
    for (size_t i = 0; i < cells->length(); ++i) {
      ASSERT_EQ(identity_hash(cells->at(i)), hashes[i]);
    }
  }
}

TEST_P(IdentityTest, EqualNumbersHaveEqualHashes) {
  const Local<Value> a = Value::Int(17);
  const Local<Value> b = Value::Int(17);
  EXPECT_EQ(identity_hash(a), identity_hash(b));
  EXPECT_NE(identity_hash(a), identity_hash(Local<Value>(Value::Int(18))));
  EXPECT_EQ(identity_hash(Local<Cell>()), identity_hash(Local<Value>()));
}

TEST_P(IdentityTest, ThreadsAgreeOnAHash) {
  constexpr size_t kCells = 200;
  Global<Array<Cell>> shared;
  shared = make_array<Cell>(kCells);
  for (size_t i = 0; i < kCells; ++i) {
    const Local<Cell> cell = make<Cell>(0L, nullptr);
    shared.get()->at(i) = cell;
  }
  std::vector<uint64_t> seen[2];
  const auto ask = [&](size_t who) {
    for (size_t i = 0; i < kCells; ++i) {
      seen[who].push_back(identity_hash(shared.get()->at(i)));
      make<Cell>(0L, nullptr);
    }
  };
  std::thread other([&] {
    const Mutator inner(*heap_);
    ask(1);
  });
  ask(0);
  {
    const NativeRegion native;
    other.join();
  }
  EXPECT_EQ(seen[0], seen[1]);
}

// --- Pins.

TEST_P(IdentityTest, APinnedObjectStaysWhereItIs) {
  const Local<Bytes> bytes = make_bytes("text");
  const Pinned<Bytes> pinned(bytes);
  Bytes* const address = pinned.get();
  for (int i = 0; i < 3000; ++i) make<Cell>(0L, make<Cell>(0L, nullptr));
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(pinned.get(), address);
  EXPECT_EQ(address->view(), "text");
}

TEST_P(IdentityTest, CWritesToAPinnedObjectWhileOthersCollect) {
  const Local<Bytes> bytes = make_bytes(1000);
  const Pinned<Bytes> pinned(bytes);
  {
    const NativeRegion native;
    std::thread other([&] {
      const Mutator inner(*heap_);
      for (int i = 0; i < 2000; ++i) make<Cell>(0L, make<Cell>(0L, nullptr));
      heap_->Collect(CollectionKind::kMajor);
    });
    memset(pinned->data(), 7, 1000);
    other.join();
    memset(pinned->data(), 8, 500);
  }
  EXPECT_EQ(bytes->data()[0], 8);
  EXPECT_EQ(bytes->data()[999], 7);
}

TEST_P(IdentityTest, BytesMadePinnedNeverMoveAndDie) {
  for (const size_t length : {size_t{0}, size_t{1}, size_t{100}, size_t{10000}}) {
    const Local<Bytes> bytes = make_pinned_bytes(length);
    char* const data = bytes->data();
    memset(data, 'x', length);
    for (int i = 0; i < 3000; ++i) make<Cell>(0L, nullptr);
    heap_->Collect(CollectionKind::kMajor);
    EXPECT_EQ(bytes->data(), data);
    EXPECT_EQ(bytes->length(), length);
    EXPECT_EQ(bytes->view(), std::string(length, 'x'));
  }
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, 0u);
}

}  // namespace
}  // namespace allomon::gc

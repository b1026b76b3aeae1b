// The order of callbacks for managed blocks, also when one of them throws.
#include <optional>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "tests/runtime/sampling_case.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

TEST_F(SamplingTest, ExceptionOfAllocCancelsTheAllocation) {
  struct Throwing {
    std::optional<int> alloc_minor(const Allocation& a) {
      if (a.size_words == 2) throw std::runtime_error("minor");
      return 1;
    }
    std::optional<int> alloc_major(const Allocation&) { throw std::runtime_error("major"); }
  };
  const auto id = Tracker::start(1, Throwing(), Seeded(1));
  ASSERT_TRUE(id.ok());
  const uint64_t before = heap_->statistics().allocated_words;
  Root<Cell> cell;
  EXPECT_THROW(cell = make<Cell>(1, nullptr), std::runtime_error);
  EXPECT_FALSE(cell);
  EXPECT_THROW(make_array<Cell>(100000), std::runtime_error);
  EXPECT_EQ(heap_->statistics().allocated_words, before);
  EXPECT_EQ(Tracker::statistics(*id)->callback_exceptions, 2u);
  EXPECT_EQ(make_bytes("still works")->view(), "still works");
  ASSERT_TRUE(Tracker::stop().ok());
  cell = make<Cell>(2, nullptr);
  EXPECT_EQ(cell->head, 2);
}

// When one of two trackers throws, the other one learns that the block died.
TEST_F(SamplingTest, ExceptionOfOneTrackerEndsTheBlockForTheOther) {
  struct Throwing {
    std::optional<int> alloc_minor(const Allocation&) { throw 1; }
  };
  StartOptions concurrent = Seeded(1);
  concurrent.concurrent = true;
  const auto counting = Tracker::start(1, CountingTracker(&counts_), concurrent);
  const auto throwing = Tracker::start(1, Throwing(), concurrent);
  ASSERT_TRUE(counting.ok() && throwing.ok());
  EXPECT_THROW(make<Cell>(1, nullptr), int);
  EXPECT_EQ(counts_.alloc_minor, 1u);
  EXPECT_EQ(counts_.dealloc_minor, 1u);
  ASSERT_TRUE(Tracker::stop(*counting).ok());
  ASSERT_TRUE(Tracker::stop(*throwing).ok());
}

TEST_F(SamplingTest, ExceptionOfPromoteLeavesTheSafepointAndTheRestStaysDue) {
  struct Shared {
    int promotes = 0;
  } shared;
  class ThrowingOnce {
   public:
    explicit ThrowingOnce(Shared* shared) : shared_(shared) {}
    std::optional<int> alloc_minor(const Allocation&) { return 1; }
    std::optional<int> promote(int value) {
      if (++shared_->promotes == 2) throw std::runtime_error("promote");
      return value;
    }

   private:
    Shared* shared_;
  };
  ASSERT_TRUE(Tracker::start(1, ThrowingOnce(&shared), Seeded(1)).ok());
  const Root<Cell> list = MakeList(5);
  EXPECT_THROW(heap_->CollectFromTop(CollectionKind::kMinor), std::runtime_error);
  EXPECT_EQ(shared.promotes, 2);
  Safepoint();
  EXPECT_EQ(shared.promotes, 5);
}

// The numbers of blocks, in the order of alloc_minor, listed in the order of their next callbacks.
struct Sequence {
  int born = 0;
  std::vector<int> promoted, died, all;
  int throws_at = -1;  // dealloc_minor of this block
};
class SequenceTracker {
 public:
  explicit SequenceTracker(Sequence* sequence) : sequence_(sequence) {}
  std::optional<int> alloc_minor(const Allocation&) { return sequence_->born++; }
  std::optional<int> promote(int number) {
    sequence_->promoted.push_back(number);
    sequence_->all.push_back(number);
    return number;
  }
  void dealloc_minor(int number) {
    sequence_->died.push_back(number);
    sequence_->all.push_back(number);
    if (number == sequence_->throws_at) throw std::runtime_error("dealloc");
  }

 private:
  Sequence* sequence_;
};

std::vector<int> NumbersBelow(int end) {
  std::vector<int> numbers;
  for (int i = 0; i < end; ++i) numbers.push_back(i);
  return numbers;
}

// Makes cells, and keeps each third alive.
Local<Cell> KeepEachThird(int cells) {
  Local<Cell> kept;
  for (int i = 0; i < cells; ++i) {
    const Local<Cell> cell = make<Cell>(i, i % 3 == 0 ? kept : nullptr);
    if (i % 3 == 0) kept = cell;
  }
  return kept;
}

// More blocks than a mutator keeps for itself; living and dying blocks alternate.
TEST_F(SamplingTest, CallbacksOfACollectionComeInTheOrderOfTheirBlocks) {
  constexpr int kCells = 100;
  Sequence sequence;
  ASSERT_TRUE(Tracker::start(1, SequenceTracker(&sequence), Seeded(1)).ok());
  const Root<Cell> kept = KeepEachThird(kCells);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(sequence.all, NumbersBelow(kCells));
  EXPECT_EQ(sequence.promoted.size(), 34u);
}

TEST_F(SamplingTest, ExceptionOfDeallocLeavesTheSafepointAndTheRestStaysDue) {
  constexpr int kCells = 50;
  Sequence sequence;
  sequence.throws_at = 20;
  ASSERT_TRUE(Tracker::start(1, SequenceTracker(&sequence), Seeded(1)).ok());
  const Root<Cell> kept = KeepEachThird(kCells);
  EXPECT_THROW(heap_->CollectFromTop(CollectionKind::kMinor), std::runtime_error);
  EXPECT_EQ(sequence.all, NumbersBelow(21));
  Safepoint();
  EXPECT_EQ(sequence.all, NumbersBelow(kCells));
}

}  // namespace
}  // namespace allomon::gc

// Objects that words of the native stack pin.
#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/weak.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

class PinsTest : public ::testing::TestWithParam<const char*> {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    EXPECT_TRUE(options.Parse(GetParam()).ok());
    return options;
  }
  void Minor() { heap_->Collect(CollectionKind::kMinor); }
  void Major() { heap_->Collect(CollectionKind::kMajor); }
  // Checks the equations of heap_statistics.h, whatever objects stay in place.
  void ExpectWordsAddUp() {
    const HeapStatistics s = heap_->statistics();
    EXPECT_EQ(s.allocated_words,
              s.promoted_words + s.freed_young_words + s.young_words + s.born_old_words);
    EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words + s.old_words);
  }
  bool IsYoung(Local<Cell> cell) const { return internal::IsYoung(internal::RawOf(cell)); }
  bool HasTenure(Local<Cell> cell) const { return internal::HasTenure(internal::RawOf(cell)); }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};
INSTANTIATE_TEST_SUITE_P(Modes, PinsTest, ::testing::Values("growth=100", "stress=11"));

Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}
long Sum(Local<Cell> list) {
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

TEST_P(PinsTest, AnObjectInUseKeepsItsAddress) {
  const Local<Cell> local = make<Cell>(7, make<Cell>(8, nullptr));
  Cell* const address = local.operator->();
  for (int round = 0; round < 20; ++round) {
    MakeList(5000);
    round % 3 == 2 ? Major() : Minor();
    ASSERT_EQ(local.operator->(), address);
    ASSERT_EQ(address->head, 7);
    ASSERT_EQ(address->tail->head, 8);
  }
  ExpectWordsAddUp();
}

TEST_P(PinsTest, AMembersAddressIsEnough) {
  long* const head = &make<Cell>(41, nullptr)->head;
  long* const last = reinterpret_cast<long*>(make_numbers<long>(100)->data()) + 99;
  *last = 42;
  char* const end = make_bytes("0123456789abcdef")->data() + 16;  // just past the object
  for (int round = 0; round < 5; ++round) {
    MakeList(5000);
    round % 2 == 0 ? Major() : Minor();
  }
  EXPECT_EQ(*head, 41);
  EXPECT_EQ(*last, 42);
  EXPECT_EQ(std::string_view(end - 16, 16), "0123456789abcdef");
}

// All neighbours die or are moved, and the holes are filled again.
TEST_P(PinsTest, NeighboursComeAndGo) {
  const long length = GetParam()[0] == 's' ? 60 : 2000;
  Local<Cell> kept[16];
  Root<Cell> list;
  for (long i = 0; i < length; ++i) {
    list = make<Cell>(i, list);
    if (i % (length / 10) == 0) kept[i % 16] = make<Cell>(-i, list);
  }
  for (int round = 0; round < 10; ++round) {
    Minor();
    EXPECT_EQ(Sum(MakeList(3000)), 3000L * 2999 / 2);
    ASSERT_EQ(Sum(list), length * (length - 1) / 2);
  }
  for (long i = 0; i < length; i += length / 10) {
    if (kept[i % 16]->head == -i) {
      ASSERT_EQ(kept[i % 16]->tail->head, i);
    }
  }
  ExpectWordsAddUp();
}

// The object is pinned once, then moved: the slots that point to it are updated, in objects of
// every kind.
TEST_P(PinsTest, SlotsOfOldObjectsFollowAnObjectThatWasPinnedOnce) {
  Root<Array<Cell>> large = make_array<Cell>(2000);
  Root<Cell> old = make<Cell>(1, nullptr);
  heap_->CollectFromTop(CollectionKind::kMinor);
  Root<Cell> young = make<Cell>(2, nullptr);
  [&]() __attribute__((noinline)) {
    const Local<Cell> pinned = make<Cell>(3, nullptr);
    large->at(1999) = pinned;
    old->tail = pinned;
    young->tail = pinned;
    Minor();
    EXPECT_TRUE(IsYoung(pinned));
    EXPECT_EQ(pinned->head, 3);
  }
  ();
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_EQ(large->at(1999), old->tail);
  EXPECT_EQ(young->tail, old->tail);
  EXPECT_EQ(old->tail->head, 3);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(young->tail->head, 3);
  ExpectWordsAddUp();
}

// Pinned twice, the object is old; stores into it and of it are those of an old object.
TEST_P(PinsTest, AnObjectWithTenureKeepsYoungerOnesAndIsMovedLater) {
  Root<Cell> old = make<Cell>(1, nullptr);
  heap_->CollectFromTop(CollectionKind::kMinor);
  [&]() __attribute__((noinline)) {
    const Local<Cell> pinned = make<Cell>(2, nullptr);
    Minor();
    Minor();
    EXPECT_TRUE(HasTenure(pinned));
    old->tail = pinned;
    pinned->tail = make<Cell>(3, nullptr);
    Minor();
    // The slot is not remembered while it points to an object with tenure.  It must be remembered
    // as soon as it points to a younger one.
    old->tail = make<Cell>(4, pinned);
    Minor();
    EXPECT_EQ(old->tail->head, 4);
    EXPECT_EQ(old->tail->tail, pinned);
    EXPECT_EQ(pinned->tail->head, 3);
  }
  ();
  heap_->CollectFromTop(CollectionKind::kMajor);  // takes the tenure
  EXPECT_EQ(old->tail->tail->tail->head, 3);
  old->tail->tail->tail = make<Cell>(5, nullptr);
  heap_->CollectFromTop(CollectionKind::kMinor);  // moves it
  EXPECT_FALSE(IsYoung(old->tail->tail));
  EXPECT_EQ(old->tail->tail->head, 2);
  EXPECT_EQ(old->tail->tail->tail->head, 5);
  old = nullptr;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, 0u);
  ExpectWordsAddUp();
}

TEST_P(PinsTest, WeakTablesKnowObjectsThatStay) {
  static int released = 0;
  released = 0;
  int finalized = 0;
  Root<WeakRef<Cell>> weak;
  Root<Ephemeron<Cell, Cell>> pair;
  [&]() __attribute__((noinline)) {
    const Local<Cell> key = make<Cell>(1, nullptr);
    const Local<CustomBlock> block = make_custom(nullptr, 100, [](void*) { ++released; });
    weak = make_weak<Cell>(key);
    pair = make_ephemeron<Cell, Cell>(key, make<Cell>(2, key));
    add_finalizer<Cell>(make<Cell>(3, key), [&](Handle<Cell> cell) {
      finalized += cell->head == 3 && cell->tail->head == 1;
    });
    const uint64_t hash = identity_hash(key);
    for (int round = 0; round < 4; ++round) {
      round == 2 ? Major() : Minor();
      EXPECT_EQ(target_of<Cell>(weak), key);
      EXPECT_EQ((value_of<Cell, Cell>(pair)->head), 2);
      EXPECT_EQ(block->bytes(), 100u);
      EXPECT_EQ(identity_hash(key), hash);
    }
    EXPECT_EQ(released, 0);
  }
  ();
  for (int round = 0; round < 3; ++round) heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_FALSE(target_of<Cell>(weak));
  EXPECT_FALSE((value_of<Cell, Cell>(pair)));
  EXPECT_EQ(released, 1);
  EXPECT_EQ(finalized, 1);
}

TEST_P(PinsTest, LargeAndOldObjectsLiveByAWordOfTheStack) {
  const Local<Bytes> large = make_bytes(100'000);
  Local<Cell> old;
  {
    const Root<Cell> root = make<Cell>(5, make<Cell>(6, nullptr));
    heap_->CollectFromTop(CollectionKind::kMinor);
    old = root;
  }
  large->data()[99'999] = 'x';
  for (int round = 0; round < 6; ++round) {
    Major();
    MakeList(4000);
    make_bytes(90'000);
  }
  EXPECT_EQ(large->data()[99'999], 'x');
  EXPECT_EQ(old->head + old->tail->head, 11);
}

// Words that are no longer or never were references: into holes, dead objects, freed memory.
TEST_P(PinsTest, StaleWordsDoNoHarm) {
  std::mt19937_64 random(5);
  Root<Cell> list = MakeList(500);
  volatile uintptr_t words[400];
  for (int round = 0; round < 30; ++round) {
    const uintptr_t young = reinterpret_cast<uintptr_t>(make<Cell>(0, nullptr).operator->());
    const uintptr_t old = reinterpret_cast<uintptr_t>(list.operator->());
    for (size_t i = 0; i < 400; ++i) {
      const uintptr_t near = i % 2 == 0 ? young : old;
      words[i] = near + random() % (200 << 10) - (100 << 10);
    }
    MakeList(300);
    round % 4 == 3 ? Major() : Minor();
    ASSERT_EQ(Sum(list), 500L * 499 / 2);
  }
  EXPECT_NE(words[0], 0u);
  ExpectWordsAddUp();
}

struct Told {
  uint64_t allocs = 0, promotes = 0, died_young = 0, died_old = 0;
};
class Telling {
 public:
  explicit Telling(Told* told) : told_(told) {}
  std::optional<int> alloc_minor(const Allocation&) { return ++told_->allocs, 0; }
  std::optional<int> promote(int value) { return ++told_->promotes, value + 1; }
  void dealloc_minor(int value) { told_->died_young += value == 0; }
  void dealloc_major(int value) { told_->died_old += value == 1; }

 private:
  Told* told_;
};

TEST_P(PinsTest, ATrackerHearsOfOnePromotionAndOneDeath) {
  Told told;
  ASSERT_TRUE(Tracker::start(1, Telling(&told)).ok());
  [&]() __attribute__((noinline)) {
    const Local<Cell> local = make<Cell>(1, nullptr);
    Minor();
    EXPECT_LE(told.promotes, GetParam()[0] == 's' ? 1u : 0u) << "pinned once";
    Minor();
    EXPECT_EQ(told.promotes, 1u) << "has tenure";
    Major();
    EXPECT_EQ(local->head, 1);
  }
  ();
  EXPECT_EQ(told.allocs, 1u);
  for (int round = 0; round < 3; ++round) heap_->CollectFromTop(CollectionKind::kMajor);
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(told.promotes, 1u);
  EXPECT_EQ(told.died_young + told.died_old, 1u);
}

// Sanitizers leave room between the variables of the program's own frames, where words stay, too.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
__attribute__((noinline)) Local<Cell> Append(Local<Cell> end) {
  const Local<Cell> cell = make<Cell>(end->head + 1, nullptr);
  end->tail = cell;
  return cell;
}

__attribute__((noinline)) Local<Cell> Begin() { return make<Cell>(0, nullptr); }
__attribute__((noinline)) long Stream(long length) {
  Local<Cell> end = Append(Begin());
  long sum = 0;
  for (long i = 0; i < length; ++i) {
    end = Append(end);
    sum += end->head;
  }
  return sum;
}

// Only the last cell of a stream is referred to.  A word that the collector's own frames had left
// from the first collection kept the first cell, and with it all.
TEST(StreamTest, KeepsNoMoreThanItsEnd) {
  constexpr long kLength = 1'000'000;
  const auto heap = Heap::Create({}).value();
  const Mutator mutator(*heap);
  EXPECT_EQ(Stream(kLength), (kLength + 1) * (kLength + 2) / 2 - 1);
  EXPECT_LT(heap->statistics().promoted_words, uint64_t{3 * kLength / 10});
}
#endif

}  // namespace
}  // namespace allomon::gc

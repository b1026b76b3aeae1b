// The backend refuses the n-th block, for every n.  Nothing breaks at any of these points, and the
// heap works again when there is memory.
#include <atomic>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "allomon_backend.h"
#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/marshal.h"
#include "runtime/weak.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

using backend::Failing;

struct Cell {
  long head;
  Field<Cell> tail;
};

struct Counts {
  uint64_t born = 0, died = 0;
};
class CountingTracker {
 public:
  explicit CountingTracker(Counts* counts) : counts_(counts) {}
  std::optional<int> alloc_minor(const Allocation&) { return ++counts_->born, 1; }
  std::optional<int> alloc_major(const Allocation&) { return ++counts_->born, 1; }
  std::optional<int> promote(int) { return 1; }
  void dealloc_minor(int) { ++counts_->died; }
  void dealloc_major(int) { ++counts_->died; }

 private:
  Counts* counts_;
};

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 256 << 10;
  options.growth_floor_bytes = 512 << 10;
  return options;
}

long g_released = 0;

// Takes memory from the backend in all ways: chunks, large objects, tables.
void Work(Heap& heap, Root<Cell>* list, long* length, long* blocks) {
  Root<Ephemeron<Cell, Cell>> weak;
  for (; *length < 30000; ++*length) {
    *list = make<Cell>(*length, *list);
    if (*length % 5000 != 0) continue;
    make_bytes(200000);
    weak = make_ephemeron<Cell, Cell>(*list, *list);
    make_custom(nullptr, 10, [](void*) { ++g_released; });
    ++*blocks;
    heap.CollectFromTop(CollectionKind::kMajor);
  }
  MarshalTypes types;
  types.Add<Cell>("cell");
  const auto bytes = marshal<Cell>(*list, types);
  ASSERT_TRUE(bytes.ok());
  ASSERT_TRUE(unmarshal<Cell>(*bytes, types).ok());
}

// Returns whether something was refused.
bool RunWithFailureAt(long n, Failing failing) {
  Counts counts;
  EXPECT_TRUE(Tracker::start(0.01, CountingTracker(&counts)).ok());
  bool refused = false;
  g_released = 0;
  long blocks = 0;
  {
    backend::g_failing = failing;
    backend::g_fail_at = n;
    const auto heap = Heap::Create(Options()).value();
    try {
      const Mutator mutator(*heap);
      Root<Cell> list;
      long length = 0;
      try {
        Work(*heap, &list, &length, &blocks);
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      refused |= backend::g_fail_at == 1;
      // Memory is available again, and the objects made so far are intact.
      backend::g_fail_at = 0;
      heap->CollectFromTop(CollectionKind::kMajor);
      long seen = 0;
      for (Local<Cell> cell = list; cell; cell = cell->tail)
        seen += cell->head == length - 1 - seen;
      EXPECT_EQ(seen, length) << "failure at " << n;
      for (int i = 0; i < 100000; ++i) make<Cell>(i, nullptr);
      list = nullptr;
      heap->CollectFromTop(CollectionKind::kMajor);
      const HeapStatistics s = heap->statistics();
      EXPECT_EQ(s.old_words, 0u);
      EXPECT_EQ(s.allocated_words, s.freed_young_words + s.freed_old_words);
    } catch (const std::bad_alloc&) {
      refused = true;  // no nursery
    }
    backend::g_fail_at = 0;
  }
  EXPECT_EQ(counts.born, counts.died) << "failure at " << n;
  EXPECT_LE(g_released, blocks + 1);
  EXPECT_GE(g_released, blocks);
  EXPECT_TRUE(Tracker::stop().ok());
  return refused;
}

class OutOfMemoryTest : public ::testing::TestWithParam<Failing> {};

TEST_P(OutOfMemoryTest, AtTheNthBlockForEveryN) {
  long n = 1;
  while (RunWithFailureAt(n, GetParam())) {
    ++n;
    ASSERT_LE(n, 2000);
    if (HasFailure()) return;
  }
  // Everything was refused once: chunks, large objects, and the tables too.
  EXPECT_GT(n, GetParam() == Failing::kChunks ? 5 : 40);
  RecordProperty("blocks", std::to_string(n));
}

TEST(CustomBlockTest, BlockThatCouldNotBeMadeCountsNoBytes) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  backend::g_failing = Failing::kAll;
  int refused = 0;
  std::vector<Local<CustomBlock>> kept(100);
  g_released = 0;
  for (Local<CustomBlock>& block : kept) {
    backend::g_fail_at = 1;
    try {
      block = make_custom(nullptr, 1000, [](void*) { ++g_released; });
    } catch (const std::bad_alloc&) {
      ++refused;
    }
    backend::g_fail_at = 0;
    if (!block) block = make_custom(nullptr, 1000, [](void*) { ++g_released; });
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(heap->statistics().custom_bytes, 100u * 1000);
  kept = std::vector<Local<CustomBlock>>();
  heap->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap->statistics().custom_bytes, 0u);
  EXPECT_EQ(g_released, 100);
}

// A store cannot fail: without memory to grow, the log is compacted, and used to its end.
TEST(BarrierTest, WithoutMemoryToGrowTheLogIsUsedToItsEnd) {
  constexpr size_t kCells = 4000;  // the first log has room for 4,096
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  const Root<Array<Cell>> old = make_array<Cell>(kCells);
  const Local<Cell> cell = make<Cell>(41, nullptr);
  old->at(0) = cell;
  backend::g_realloc_fails = true;
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kCells; ++i) {
      old->at(i) = nullptr;
      old->at(i) = cell;
    }
  }
  backend::g_realloc_fails = false;
  heap->CollectFromTop(CollectionKind::kMajor);
  for (size_t i = 0; i < kCells; ++i) ASSERT_EQ(old->at(i)->head, 41);
}

// The safepoint is an allocation.
struct FreshCells {
  Local<Cell> operator()(size_t i) { return make<Cell>(static_cast<long>(i), nullptr); }
};

// The safepoint is Safepoint(), and between a thousand of them nothing is allocated.
struct CellsMadeBefore {
  Local<Cell> operator()(size_t i) {
    if (i % cells.size() == 0) {
      for (size_t k = 0; k < cells.size(); ++k) {
        cells[k] = make<Cell>(static_cast<long>(i + k), nullptr);
      }
    }
    Safepoint();
    return cells[i % cells.size()];
  }
  std::vector<Local<Cell>> cells = std::vector<Local<Cell>>(1000);
};

// Fills an old array with young cells while the log cannot grow.
template <typename Cells>
void FillWithoutMemory() {
  constexpr size_t kCells = 50'000;
  HeapOptions options = Options();
  options.nursery_bytes = 8 << 20;  // no collection for room
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  const Root<Array<Cell>> old = make_array<Cell>(kCells);
  Cells cells;
  const uint64_t before = heap->statistics().minor_collections;
  backend::g_realloc_fails = true;
  for (size_t i = 0; i < kCells; ++i) old->at(i) = cells(i);
  backend::g_realloc_fails = false;
  EXPECT_GT(heap->statistics().minor_collections, before);
  heap->CollectFromTop(CollectionKind::kMajor);
  for (size_t i = 0; i < kCells; ++i) ASSERT_EQ(old->at(i)->head, static_cast<long>(i));
}

// The next safepoint collects if the log cannot grow, be it an allocation, one that a tracker
// samples, or Safepoint().
TEST(BarrierTest, WithoutMemoryToGrowTheLogTheNextSafepointCollects) {
  FillWithoutMemory<FreshCells>();
  FillWithoutMemory<CellsMadeBefore>();
  Counts counts;
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts)).ok());
  FillWithoutMemory<FreshCells>();
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_EQ(counts.born, counts.died);
}

TEST(BarrierTest, WithoutMemoryForALogNoThreadIsAttached) {
  const auto heap = Heap::Create(Options()).value();
  backend::g_realloc_fails = true;
  EXPECT_THROW(const Mutator mutator(*heap), std::bad_alloc);
  backend::g_realloc_fails = false;
  const Mutator mutator(*heap);
  EXPECT_EQ(make<Cell>(41, nullptr)->head, 41);
}

constexpr size_t kSlots = 2000;

// Makes an old array that refers to a cell which this frame keeps in its place, and collects.
__attribute__((noinline)) void CollectWithoutMemory(Heap& heap, Root<Array<Cell>>* kept) {
  const Local<Cell> stays = make<Cell>(41, nullptr);
  *kept = make_array<Cell>(kSlots);
  for (size_t i = 0; i < kSlots; ++i) (*kept)->at(i) = stays;
  heap.core().options.verify = false;  // it needs memory
  backend::g_failing = Failing::kAll;
  backend::g_fail_at = 1;
  heap.Collect(CollectionKind::kMinor);
  backend::g_fail_at = 0;
  heap.core().options.verify = true;
  EXPECT_EQ((*kept)->at(7), stays);
}

// A thread of a parallel collection has no memory to remember the slots that point to an object
// which stays: that becomes old in its place.
TEST(CollectorsTest, WithoutMemoryForSlotsAnObjectBecomesOld) {
  for (const uint32_t collectors : {1u, 2u}) {
    HeapOptions options = Options();
    options.verify = true;
    options.collectors = collectors;
    options.collectors_from_bytes = 0;
    const auto heap = Heap::Create(options).value();
    const Mutator mutator(*heap);
    Root<Array<Cell>> kept;
    CollectWithoutMemory(*heap, &kept);
    EXPECT_EQ(heap->statistics().parallel_collections > 0, collectors > 1);
    for (int i = 0; i < 3; ++i) heap->CollectFromTop(CollectionKind::kMinor);
    for (size_t i = 0; i < kSlots; ++i) ASSERT_EQ(kept->at(i)->head, 41);
    heap->CollectFromTop(CollectionKind::kMajor);
    heap->CollectFromTop(CollectionKind::kMinor);
    for (size_t i = 0; i < kSlots; ++i) ASSERT_EQ(kept->at(i)->head, 41);
  }
}

TEST(BarrierDeathTest, ALogThatIsFullEndsTheProcess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto fill = [] {
    constexpr size_t kCells = 5000;
    const auto heap = Heap::Create(Options()).value();
    const Mutator mutator(*heap);
    const Root<Array<Cell>> old = make_array<Cell>(kCells);
    const Local<Cell> cell = make<Cell>(41, nullptr);
    old->at(0) = cell;
    backend::g_realloc_fails = true;
    for (size_t i = 0; i < kCells; ++i) old->at(i) = cell;
  };
  EXPECT_DEATH(fill(), "out of memory for remembered slots");
}

// If the table of samples cannot grow, the object is reported dead at once.  That report is also a
// callback, and here it collects.  The runtime must not hold the new object's memory at that time,
// since the collection would not update it.
class CollectingTracker {
 public:
  CollectingTracker(Heap* heap, int* collections) : heap_(heap), collections_(collections) {}
  std::optional<int> alloc_minor(const Allocation&) { return 1; }
  std::optional<int> alloc_major(const Allocation&) { return 1; }
  void dealloc_minor(int) { Collect(); }
  void dealloc_major(int) { Collect(); }

 private:
  void Collect() {
    backend::g_fail_at = 0;
    heap_->Collect(CollectionKind::kMajor);
    for (int i = 0; i < 100; ++i) make<Cell>(-1, nullptr);
    ++*collections_;
  }
  Heap* const heap_;
  int* const collections_;
};

TEST(SampleTableTest, ObjectThatCannotBeFollowedIsWhole) {
  for (const bool large : {false, true}) {
    const auto heap = Heap::Create(Options()).value();
    const Mutator mutator(*heap);
    int collections = 0;
    ASSERT_TRUE(Tracker::start(1, CollectingTracker(heap.get(), &collections)).ok());
    backend::g_failing = Failing::kAll;
    std::vector<Local<Bytes>> blocks(70);
    for (size_t i = 0; i < blocks.size(); ++i) {
      // The next block of the backend is for the table.  A large object takes its own block.
      backend::g_fail_at = 1;
      try {
        blocks[i] = make_bytes(large ? 10000 : 100);
      } catch (const std::bad_alloc&) {
      }
      backend::g_fail_at = 0;
      if (!blocks[i]) continue;
      blocks[i]->data()[50] = static_cast<char>(i + 1);
    }
    for (int i = 0; i < 2000; ++i) make<Cell>(-1, nullptr);
    heap->CollectFromTop(CollectionKind::kMajor);
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (!blocks[i]) continue;
      EXPECT_EQ(blocks[i]->data()[50], static_cast<char>(i + 1));
    }
    EXPECT_GT(collections, 0) << large;
    ASSERT_TRUE(Tracker::stop().ok());
  }
}

// Each thread's object fits below the limit, but both together do not.  Neither thread leaves the
// backend before the other one has entered it, or has been refused and so wants to collect.
TEST(LimitTest, ThreadsThatAllocateLargeObjectsAtOnceRespectItTogether) {
  HeapOptions options = Options();
  options.limit_bytes = 8 << 20;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 64 << 20;  // no collection before the threads allocate
  const auto heap = Heap::Create(options).value();
  static internal::HeapCore* core = nullptr;
  static std::atomic<int> inside{0};
  core = &heap->core();
  inside = 0;
  std::atomic<int> refused{0}, attached{0};
  std::atomic<uint64_t> most{0};
  const auto work = [&] {
    const Mutator mutator(*heap);
    ++attached;
    while (attached < 2) Safepoint();
    try {
      const Root<Bytes> bytes = make_bytes(5 << 20);
      most = std::max<uint64_t>(most, heap->statistics().old_space_bytes);
      --attached;
      while (attached > 0) Safepoint();
    } catch (const std::bad_alloc&) {
      ++refused;
      --attached;
    }
  };
  backend::g_in_calloc = [](size_t size_bytes) {
    if (size_bytes < (4 << 20)) return;
    ++inside;
    while (inside < 2 && !core->world.stopping()) std::this_thread::yield();
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  backend::g_in_calloc = nullptr;
  EXPECT_EQ(refused, 1);
  EXPECT_LE(most, options.limit_bytes);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OutOfMemoryTest,
                         ::testing::Values(Failing::kChunks, Failing::kAll));

}  // namespace
}  // namespace allomon::gc

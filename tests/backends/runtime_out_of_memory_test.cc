// The backend refuses the n-th block, for every n.  Nothing breaks at any of these points, and the
// heap works again when there is memory.
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

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

constexpr size_t kVisitors = 24;  // more than a heap keeps the nurseries of

struct Visits {
  Root<Array<Cell>> keys = make_array<Cell>(kVisitors);
  Root<Array<Ephemeron<Cell, Cell>>> pairs = make_array<Ephemeron<Cell, Cell>>(kVisitors);
  bool refused = false;
};

// A thread that leaves young objects, an ephemeron among them, and that attaches beside another one
// if it is asked to.
void Visit(Heap& heap, Visits* visits, size_t i, bool beside_another) {
  try {
    const Mutator mutator(heap);
    const Local<Cell> key = make<Cell>(static_cast<long>(i), nullptr);
    const Local<Cell> value = make<Cell>(static_cast<long>(i) + 1, nullptr);
    visits->pairs->at(i) = make_ephemeron<Cell, Cell>(key, value);
    visits->keys->at(i) = key;
    if (!beside_another) return;
    const NativeRegion region;
    std::thread(Visit, std::ref(heap), visits, i + 1, false).join();
  } catch (const std::bad_alloc&) {
    visits->refused = true;
  }
}

// Visitors take over what others have left.  Returns whether memory was refused.
bool HaveVisitorsWithFailureAt(long n) {
  Counts counts;
  EXPECT_TRUE(Tracker::start(1, CountingTracker(&counts)).ok());
  bool refused = false;
  {
    const auto heap = Heap::Create(Options()).value();
    const Mutator mutator(*heap);
    Visits visits;
    {
      const NativeRegion region;
      backend::g_failing = Failing::kAll;
      backend::g_fail_at = n;
      for (size_t i = 0; i < kVisitors; i += 2) {
        std::thread(Visit, std::ref(*heap), &visits, i, true).join();
      }
    }
    refused = visits.refused || backend::g_fail_at == 1;
    try {
      // This collects what the visitors have left, perhaps without memory.
      for (int i = 0; i < 30'000; ++i) make<Cell>(i, nullptr);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    backend::g_fail_at = 0;
    for (const CollectionKind kind : {CollectionKind::kMinor, CollectionKind::kMajor}) {
      heap->CollectFromTop(kind);
      for (size_t i = 0; i < kVisitors; ++i) {
        const Local<Cell> key = visits.keys->at(i);
        if (!key) continue;
        const Local<Cell> value = value_of<Cell, Cell>(visits.pairs->at(i));
        EXPECT_TRUE(value && value->head == key->head + 1) << i << ", failure at " << n;
      }
    }
    visits.keys = nullptr;
    visits.pairs = nullptr;
    heap->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics s = heap->statistics();
    EXPECT_EQ(s.old_words, 0u) << "failure at " << n;
    EXPECT_EQ(s.allocated_words, s.freed_young_words + s.freed_old_words);
  }
  EXPECT_EQ(counts.born, counts.died) << "failure at " << n;
  EXPECT_TRUE(Tracker::stop().ok());
  return refused;
}

TEST(VisitorsTest, AtTheNthBlockForEveryN) {
  long n = 1;
  while (HaveVisitorsWithFailureAt(n)) {
    ++n;
    ASSERT_LE(n, 2000);
    if (HasFailure()) return;
  }
  EXPECT_GT(n, 5);
  RecordProperty("blocks", std::to_string(n));
}

// A visitor that takes a nursery over has its log; one that attaches beside it has none.
TEST(VisitorsTest, WithoutMemoryForALogAVisitorIsRefusedAndLeavesNothing) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  Visits visits;
  {
    const NativeRegion region;
    std::thread(Visit, std::ref(*heap), &visits, 0, false).join();
    backend::g_realloc_fails = true;
    std::thread(Visit, std::ref(*heap), &visits, 2, true).join();
    backend::g_realloc_fails = false;
    EXPECT_TRUE(visits.refused);
    std::thread(Visit, std::ref(*heap), &visits, 4, true).join();
  }
  heap->CollectFromTop(CollectionKind::kMajor);
  for (const size_t i : {0, 2, 4, 5}) {
    ASSERT_TRUE(visits.keys->at(i));
    ASSERT_TRUE((value_of<Cell, Cell>(visits.pairs->at(i))));
  }
  EXPECT_FALSE(visits.keys->at(3));
}

// Its key stays young, so that the collection at the end has an ephemeron to leave to the heap.
void LeaveWeakReference(Heap* heap, Global<WeakRef<Cell>>* kept) {
  const Mutator mutator(*heap);
  const Local<Cell> key = make<Cell>(1, nullptr);
  for (int i = 0; i < 3; ++i) heap->Collect(CollectionKind::kMinor);
  *kept = make_weak<Cell>(key);
  EXPECT_EQ(key->head, 1);
  backend::g_failing = Failing::kAll;
  backend::g_fail_at = 1;
}

TEST(VisitorsTest, AHeapEndsAfterItsLastThreadHasLeftWithoutMemory) {
  Counts counts;
  ASSERT_TRUE(Tracker::start(1, CountingTracker(&counts)).ok());
  auto heap = Heap::Create(Options()).value();
  {
    Global<WeakRef<Cell>> kept;
    std::thread(LeaveWeakReference, heap.get(), &kept).join();
    // What it has left waits for a collection that does not come.
    backend::g_fail_at = 0;
  }
  heap = nullptr;
  ASSERT_TRUE(Tracker::stop().ok());
  EXPECT_GT(counts.born, 0u);
  EXPECT_EQ(counts.born, counts.died);
}

// A thread stands while it waits for another heap, or for a fork, and neither may throw.
TEST(StandingTest, WithoutMemoryForItsFrameAThreadStands) {
  const auto heap = Heap::Create(Options()).value();
  auto other = Heap::Create(Options()).value();
  std::thread([&] {
    const Mutator mutator(*heap);
    make<Cell>(1, nullptr);
    backend::g_failing = Failing::kAll;
    backend::g_fail_at = 1;
    other = nullptr;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    int status = 1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    backend::g_fail_at = 0;
  }).join();
}

// A coroutine marks without memory, is left, and its stack is scanned by the next collection.
struct Coroutine {
  Heap* heap;
  ucontext_t outside, inside;
  bool has_memory;
  long sum = 0;
};
Coroutine* g_coroutine = nullptr;

__attribute__((noinline)) void LeaveCoroutine() {
  LeaveStack();
  swapcontext(&g_coroutine->inside, &g_coroutine->outside);
}
__attribute__((noinline)) void EnterCoroutine() {
  LeaveStack();
  swapcontext(&g_coroutine->outside, &g_coroutine->inside);
}

__attribute__((noinline)) void HoldCells() {
  Local<Cell> cells[8];
  for (long i = 0; i < 8; ++i) cells[i] = make<Cell>(i, nullptr);
  backend::g_failing = Failing::kAll;
  backend::g_fail_at = g_coroutine->has_memory ? 0 : 1;
  g_coroutine->heap->Collect(CollectionKind::kMajor);
  backend::g_fail_at = 0;
  LeaveCoroutine();
  for (const Local<Cell>& cell : cells) g_coroutine->sum += cell->head;
}

void RunCoroutine() {
  HoldCells();
  LeaveCoroutine();
}

long SumFromCoroutine(bool has_memory) {
  const auto heap = Heap::Create(Options()).value();
  const Mutator mutator(*heap);
  Coroutine coroutine = {heap.get(), {}, {}, has_memory};
  g_coroutine = &coroutine;
  std::vector<char> memory(1 << 18);
  const RegisteredStack stack(memory.data(), memory.size());
  getcontext(&coroutine.inside);
  coroutine.inside.uc_stack.ss_sp = memory.data();
  coroutine.inside.uc_stack.ss_size = memory.size();
  coroutine.inside.uc_link = nullptr;
  makecontext(&coroutine.inside, RunCoroutine, 0);
  EnterCoroutine();
  heap->Collect(CollectionKind::kMinor);
  for (int i = 0; i < 200'000; ++i) make<Cell>(-7, nullptr);
  EnterCoroutine();
  return coroutine.sum;
}

TEST(CoroutineTest, StackOnWhichAMarkingHadNoMemoryIsScannedByTheNextCollection) {
  EXPECT_EQ(SumFromCoroutine(true), 28);
  EXPECT_EQ(SumFromCoroutine(false), 28);
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

// The verifier's set of visited objects does not grow.  An exception would leave the world stopped.
TEST(VerifierTest, WithoutMemoryForItsSetTheHeapIsNotVerified) {
  HeapOptions options = Options();
  options.verify = true;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  Root<Cell> list;
  constexpr long kCells = 3000;
  for (long i = 0; i < kCells; ++i) list = make<Cell>(i, list);
  heap->CollectFromTop(CollectionKind::kMajor);
  for (int fail_at = 1; fail_at <= 12; ++fail_at) {
    backend::g_failing = Failing::kAll;
    backend::g_fail_at = fail_at;
    EXPECT_NO_THROW(heap->CollectFromTop(CollectionKind::kMajor)) << fail_at;
    backend::g_fail_at = 0;
    heap->CollectFromTop(CollectionKind::kMinor);
    long seen = 0;
    for (Local<Cell> cell = list; cell; cell = cell->tail) ++seen;
    ASSERT_EQ(seen, kCells);
  }
}

// The members of a team mark without memory for their stacks, long objects and slots.  One thread
// marks alone if there is no memory for the team.
TEST(CollectorsTest, WithoutMemoryAllThatIsReachableIsMarked) {
  constexpr size_t kCells = 20000;
  int in_parallel = 0;
  for (const int fail_at : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20}) {
    HeapOptions options = Options();
    options.incremental_from_bytes = size_t{1} << 40;
    options.collectors = 2;
    options.collectors_from_bytes = 0;
    const auto heap = Heap::Create(options).value();
    const Mutator mutator(*heap);
    Root<Array<Cell>> cells = make_array<Cell>(kCells);
    for (size_t i = 0; i < kCells; ++i) {
      cells->at(i) = make<Cell>(static_cast<long>(i), nullptr);
      if (i >= 100) cells->at(i)->tail = cells->at(i - 100);
    }
    heap->CollectFromTop(CollectionKind::kMajor);
    const HeapStatistics before = heap->statistics();
    backend::g_failing = Failing::kAll;
    backend::g_fail_at = fail_at;
    heap->CollectFromTop(CollectionKind::kMajor);
    backend::g_fail_at = 0;
    const HeapStatistics after = heap->statistics();
    EXPECT_EQ(after.old_words, before.old_words);
    in_parallel += after.parallel_markings > before.parallel_markings ? 1 : 0;
    heap->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(heap->statistics().old_words, before.old_words);
    for (size_t i = 0; i < kCells; ++i) ASSERT_EQ(cells->at(i)->head, static_cast<long>(i));
  }
  EXPECT_GT(in_parallel, 0);
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

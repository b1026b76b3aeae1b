// The heap's own threads: one that marks while the program's threads run, and those that take part
// in minor collections.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/evacuation.h"
#include "runtime/internal/space/poison.h"
#include "tests/runtime/lists.h"

namespace allomon::gc {
namespace {

// Threads exchange the elements of an old array, which holds their only references, while the
// heap's own thread marks it.  The thread sanitizer checks this.
TEST(MarkHelperTest, ThreadsStoreWhileAnotherMarks) {
  constexpr size_t kPlaces = 64;
  constexpr int kThreads = 2;
  constexpr int kRounds = 3000;
  const auto heap = Heap::Create(InBackground()).value();
  Global<Array<Array<Cell>>> places;
  {
    const Mutator mutator(*heap);
    places = make_array<Array<Cell>>(kThreads);
    for (size_t t = 0; t < kThreads; ++t) places.get()->at(t) = make_array<Cell>(kPlaces);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Mutator mutator(*heap);
      const Local<Array<Cell>> mine = places.get()->at(t);
      for (size_t i = 0; i < kPlaces; ++i) mine->at(i) = MakeList(200);
      const auto has_marked = [&] { return heap->statistics().major_collections > 2; };
      for (size_t round = 0; round < kRounds || round % 500 != 0 || !has_marked(); ++round) {
        const size_t from = round * 7 % kPlaces, to = round * 13 % kPlaces;
        const Local<Cell> taken = mine->at(from);
        mine->at(from) = nullptr;
        MakeList(20);
        mine->at(from) = mine->at(to);
        mine->at(to) = taken;
        if (round % 5 == 0) mine->at(from) = MakeList(200);
        if (round % 50 == 0) wrong += Sum(mine->at(from)) != 19900;
      }
      for (size_t i = 0; i < kPlaces; ++i) wrong += Sum(mine->at(i)) != 19900;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  places.Reset();
}

// The heap is destroyed after the current slice, not after the marking.
TEST(MarkHelperTest, AHeapEndsWhileItsThreadMarks) {
  for (int i = 0; i < 20; ++i) {
    const auto heap = Heap::Create(InBackground()).value();
    const Mutator mutator(*heap);
    Root<Cell> list = MakeList(20000);
    internal::CollectForGrowth(heap->core(), internal::CurrentMutator());
    EXPECT_TRUE(heap->core().cycle.is_active());
  }
}

HeapOptions BySeveral(uint32_t collectors) {
  HeapOptions options;
  options.nursery_bytes = 8 << 20;
  options.collectors = collectors;
  options.collectors_from_bytes = 0;
  return options;
}

// Two tables refer to the same cells in opposite orders, so the threads meet at cells.
void MakeTwoTables(Root<Array<Cell>>* up, Root<Array<Cell>>* down) {
  constexpr size_t kCells = 100000;
  *up = make_array<Cell>(kCells);
  *down = make_array<Cell>(kCells);
  for (size_t i = 0; i < kCells; ++i) {
    (*up)->at(i) = make<Cell>(static_cast<long>(i), nullptr);
    (*down)->at(kCells - 1 - i) = (*up)->at(i);
  }
}

int CountWrong(Handle<Array<Cell>> up, Handle<Array<Cell>> down) {
  int wrong = 0;
  for (size_t i = 0; i < up->length(); ++i) {
    const Local<Cell> cell = up->at(i);
    wrong += cell->head != static_cast<long>(i) || cell != down->at(up->length() - 1 - i);
  }
  return wrong;
}

TEST(CollectorsTest, EachObjectIsMovedOnce) {
  for (const uint32_t collectors : {2u, 4u}) {
    const auto heap = Heap::Create(BySeveral(collectors)).value();
    const Mutator mutator(*heap);
    for (int round = 0; round < 20; ++round) {
      Root<Array<Cell>> up;
      Root<Array<Cell>> down;
      MakeTwoTables(&up, &down);
      const Root<Cell> list = MakeList(50000);
      const uint64_t before = heap->statistics().promoted_words;
      heap->CollectFromTop(CollectionKind::kMinor);
      EXPECT_EQ(CountWrong(up, down), 0);
      EXPECT_EQ(Sum(list), 50000L * 49999 / 2);
      EXPECT_EQ(heap->statistics().promoted_words - before, 150000u * 3);
      heap->CollectFromTop(CollectionKind::kMajor);
    }
    EXPECT_GT(heap->statistics().parallel_collections, 0u);
  }
}

// A thread that meets an object which another one is moving waits, and takes the new address.
TEST(CollectorsTest, AnObjectThatAnotherThreadMovesIsAwaited) {
  using namespace internal;  // NOLINT: the parts of a collection
  Spaces spaces;
  ASSERT_TRUE(spaces.blocks.AddChunk());
  CardLocks cards;
  ASSERT_TRUE(cards.Reserve());
  YoungSlice* const slice = YoungSlice::Map(kSliceBytes);
  ASSERT_NE(slice, nullptr);
  TypeInfo type = {};
  type.size_words = 1;
  type.kind = Kind::kFixed;
  Object* const object = reinterpret_cast<Object*>(slice->start() + kWordBytes);
  ALLOMON_GC_UNPOISON(&HeaderOf(object), 2 * kWordBytes);
  HeaderOf(object) = reinterpret_cast<uintptr_t>(&type);
  SharedWork work(2);
  ASSERT_TRUE(work.Join());
  cards.Lock(CardLocks::Of(object));
  Slot slot = object;
  std::atomic<bool> has_visited{false};
  EvacuationResult result;
  std::thread other([&] {
    Evacuation<true> evacuation(spaces, cards, work, 1);
    evacuation.Visit(slot);
    has_visited = true;
    evacuation.DrainShared();
    result = evacuation.Finish();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_visited);
  Word* const copy = reinterpret_cast<Word*>(spaces.blocks.Allocate(2 * kWordBytes));
  CopyWords(copy, &HeaderOf(object), 2);
  const uintptr_t address = reinterpret_cast<uintptr_t>(copy + 1);
  __atomic_store_n(&HeaderOf(object), address | kForwardedBit, __ATOMIC_RELEASE);
  cards.Unlock(CardLocks::Of(object));
  EXPECT_EQ(work.Take(), nullptr);
  other.join();
  EXPECT_EQ(slot, reinterpret_cast<Object*>(address));
  EXPECT_EQ(result.moved_words, 0u);
  YoungSlice::Unmap(slice);
}

uint64_t ParallelCollections(const HeapOptions& options) {
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  const Root<Cell> list = MakeList(10000);
  for (int i = 0; i < 5; ++i) heap->Collect(CollectionKind::kMinor);
  return heap->statistics().parallel_collections;
}

TEST(CollectorsTest, WhereThereIsOneThreadItCollects) {
  EXPECT_GT(ParallelCollections(BySeveral(2)), 0u);
  EXPECT_EQ(ParallelCollections(BySeveral(1)), 0u);
  HeapOptions without_threads = BySeveral(2);
  without_threads.background = false;
  EXPECT_EQ(ParallelCollections(without_threads), 0u);
  HeapOptions for_many = BySeveral(2);
  for_many.collectors_from_bytes = 64 << 20;
  EXPECT_EQ(ParallelCollections(for_many), 0u);
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(ParallelCollections(BySeveral(2)), 0u);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

}  // namespace
}  // namespace allomon::gc

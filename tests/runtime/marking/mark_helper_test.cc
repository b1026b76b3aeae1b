// A major collection in slices that the heap's own thread marks while the program's threads run.
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
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

}  // namespace
}  // namespace allomon::gc

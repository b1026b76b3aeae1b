// The heap's own threads: one that marks while the program's threads run, and those that take part
// in minor collections and in markings while the world is stopped.
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "runtime/internal/collect/evacuation.h"
#include "runtime/internal/collect/mark_share.h"
#include "runtime/internal/collect/mark_slices.h"
#include "runtime/internal/collect/mark_stack.h"
#include "runtime/internal/space/nursery_share.h"
#include "runtime/internal/space/poison.h"
#include "runtime/weak.h"
#include "runtime/weak_map.h"
#include "tests/runtime/lists.h"
#include "tests/support/sanitizers.h"

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
    const int rounds = testing::kHasThreadSanitizer ? 5 : 20;
    for (int round = 0; round < rounds; ++round) {
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

struct Tree {
  Field<Tree> left;
  Field<Tree> right;
};

Local<Tree> MakeTree(int depth) {
  if (depth == 0) return make<Tree>();
  return make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}
long CountTrees(Handle<Tree> tree) {
  return tree ? 1 + CountTrees(tree->left) + CountTrees(tree->right) : 0;
}

using Pair = Ephemeron<Cell, Cell>;

// The value of each pair is the key of the one before it in the array, which is the adverse order.
// Returns the key of the last pair.
Local<Cell> MakeChain(Handle<Array<Pair>> chain) {
  Local<Cell> key = make<Cell>(-1, nullptr);
  for (size_t i = 0; i < chain->length(); ++i) {
    const Local<Cell> value = key;
    key = make<Cell>(static_cast<long>(i), nullptr);
    chain->at(i) = make_ephemeron<Cell, Cell>(key, value);
  }
  return key;
}
long CountPairs(Handle<Array<Pair>> chain) {
  long count = 0;
  for (size_t i = 0; i < chain->length(); ++i) count += key_of<Cell, Cell>(chain->at(i)) ? 1 : 0;
  return count;
}

// A graph of most kinds of objects, parts of which are dropped in rounds.  All that can be seen of
// its collections is noted: what lives, the counts of words, and the callbacks in their order.
class DroppedGraph {
 public:
  struct Released {
    std::vector<long>* log;
    long number;
  };

  // The heap's end releases the blocks that are left, so `log` and `released` outlive the heap.
  DroppedGraph(std::vector<long>* log, Released* released) : log_(log) {
    MakeTwoTables(&up_, &down_);
    tree_ = MakeTree(16);
    list_ = MakeList(30000);
    kept_key_ = MakeChain(kept_ = make_array<Pair>(300));
    dropped_key_ = MakeChain(dropped_ = make_array<Pair>(300));
    map_ = make_weak_map<Cell, Cell>();
    customs_ = make_array<CustomBlock>(200);
    for (size_t i = 0; i < customs_->length(); ++i) {
      released[i] = {log, static_cast<long>(i)};
      customs_->at(i) = make_custom(&released[i], 100 + i, NoteRelease);
      map_->set(up_->at(i * 7), make<Cell>(1, up_->at(i)));
      add_finalizer<Cell>(up_->at(i * 11),
                          [log](Handle<Cell> cell) { log->push_back(1000 + cell->head); });
    }
  }

  void Drop(size_t round) {
    for (size_t i = 0; i < up_->length(); ++i) {
      if (i * 2654435761 % 1009 % 5 != round) continue;
      up_->at(i) = nullptr;
      down_->at(down_->length() - 1 - i) = nullptr;
      if (i < customs_->length()) customs_->at(customs_->length() - 1 - i) = nullptr;
    }
    if (round == 1) dropped_key_ = nullptr;
    if (round == 2) tree_ = tree_->left;
    if (round == 3) list_ = nullptr;
  }

  void Look(const HeapStatistics& s) {
    long cells = 0;
    for (size_t i = 0; i < up_->length(); ++i) {
      if (!up_->at(i)) continue;
      ++cells;
      EXPECT_EQ(up_->at(i)->head, static_cast<long>(i));
    }
    for (const long seen : {cells, CountTrees(tree_), Sum(list_), CountPairs(kept_),
                            CountPairs(dropped_), static_cast<long>(map_->size())}) {
      Note(seen);
    }
    for (const uint64_t count :
         {s.allocated_words, s.young_words, s.promoted_words, s.freed_young_words, s.born_old_words,
          s.freed_old_words, s.old_words, s.custom_bytes, s.major_collections}) {
      Note(static_cast<long>(count));
    }
  }

 private:
  static void NoteRelease(void* data) {
    const Released& released = *static_cast<Released*>(data);
    released.log->push_back(-released.number);
  }
  void Note(long what) { log_->push_back(what); }

  std::vector<long>* const log_;
  Root<Array<Cell>> up_, down_;
  Root<Tree> tree_;
  Root<Cell> list_;
  Root<Array<Pair>> kept_, dropped_;
  Root<Cell> kept_key_, dropped_key_;
  Root<WeakMap<Cell, Cell>> map_;
  Root<Array<CustomBlock>> customs_;
};

std::vector<long> LogOfMarkings(const HeapOptions& options) {
  std::vector<long> log;
  DroppedGraph::Released released[200];
  const auto heap = Heap::Create(options).value();
  {
    const Mutator mutator(*heap);
    DroppedGraph graph(&log, released);
    for (size_t round = 0; round < 5; ++round) {
      for (int i = 0; i < 2; ++i) {
        heap->CollectFromTop(CollectionKind::kMajor);
        Safepoint();
        graph.Look(heap->statistics());
      }
      graph.Drop(round);
    }
  }
  EXPECT_EQ(heap->statistics().parallel_markings > 0, options.collectors > 1);
  return log;
}

TEST(CollectorsTest, MarkingBySeveralIsThatOfOne) {
  const std::vector<long> by_one = LogOfMarkings(BySeveral(1));
  EXPECT_GT(by_one.size(), 400u);  // callbacks have run
  for (const uint32_t collectors : {2u, 4u}) {
    for (const size_t entries : {size_t{16}, size_t{1} << 26}) {
      HeapOptions options = BySeveral(collectors);
      options.mark_stack_entries = entries;
      // Takes most of the test's time, and one thread does it.
      options.verify = collectors == 2 && !testing::kHasThreadSanitizer;
      EXPECT_EQ(LogOfMarkings(options), by_one) << collectors << " collectors, " << entries;
    }
  }
}

// Two threads mark the same words of a chunk in the same order.
TEST(CollectorsTest, OneOfTwoThreadsMarksAnObject) {
  using namespace internal;  // NOLINT: the parts of a collection
  BlockSpace blocks;
  ASSERT_TRUE(blocks.AddChunk());
  Chunk* const chunk = Chunk::Of(blocks.Allocate(kWordBytes));
  constexpr size_t kFirst = kFirstBlock * kBlockWords;
  constexpr size_t kWords = kChunkBytes / kWordBytes;
  for (int round = 0; round < 20; ++round) {
    chunk->ClearMarks();
    std::atomic<int> ready{0};
    std::atomic<size_t> marked{0};
    const auto mark = [&] {
      size_t own = 0;
      for (++ready; ready != 2;) {
      }
      for (size_t i = kFirst; i < kWords; ++i) {
        const Word* const word = reinterpret_cast<Word*>(chunk->start()) + i;
        own += chunk->SetMarkedShared(reinterpret_cast<const Object*>(word)) ? 1 : 0;
      }
      marked += own;
    };
    std::thread other(mark);
    mark();
    other.join();
    ASSERT_EQ(marked, kWords - kFirst);
    size_t set = 0;
    chunk->ForEachMarked([&set](Object*) { ++set; });
    ASSERT_EQ(set, kWords - kFirst);
  }
}

// Blocks that have the same place in the table of sums.
TEST(CollectorsTest, SumsOfBlocksThatShareAPlaceAreKeptApart) {
  using namespace internal;  // NOLINT: the parts of a collection
  constexpr size_t kBytes = LiveSums::kCoveredBytes + 2 * kChunkBytes;
  char* const memory = static_cast<char*>(ReserveMemory(kBytes));
  ASSERT_NE(memory, nullptr);
  Chunk* const near = Chunk::Of(memory + kChunkBytes);
  Chunk* const far = Chunk::Of(near->start() + LiveSums::kCoveredBytes);
  const auto object = [](Chunk* chunk) { return reinterpret_cast<Object*>(chunk->BlockAt(5)); };
  LiveSums sums;
  for (int i = 0; i < 10; ++i) {
    sums.Add(object(near), 3);
    sums.Add(object(near), 4);
    sums.Add(object(far), 5);
  }
  sums.Flush();
  sums.Flush();
  EXPECT_EQ(near->live_words[5], 70);
  EXPECT_EQ(far->live_words[5], 50);
  ReleaseMemory(memory, kBytes);
}

TEST(CollectorsTest, TheOlderHalfOfAMarkStackIsTaken) {
  using namespace internal;  // NOLINT: the parts of a collection
  const auto object = [](uintptr_t i) { return reinterpret_cast<Object*>(i * kWordBytes); };
  MarkStack stack(16);
  Object* taken[4] = {};
  EXPECT_EQ(stack.TakeOlderHalf(taken, 4), 0u);
  ASSERT_TRUE(stack.TryPush(object(1)));
  EXPECT_EQ(stack.TakeOlderHalf(taken, 4), 0u);
  for (uintptr_t i = 2; i <= 9; ++i) ASSERT_TRUE(stack.TryPush(object(i)));
  EXPECT_EQ(stack.TakeOlderHalf(taken, 3), 3u);
  for (uintptr_t i = 0; i < 3; ++i) EXPECT_EQ(taken[i], object(i + 1));
  EXPECT_EQ(stack.TakeOlderHalf(taken, 4), 3u);
  for (uintptr_t i = 0; i < 3; ++i) EXPECT_EQ(taken[i], object(i + 4));
  for (uintptr_t i = 9; i >= 7; --i) EXPECT_EQ(stack.Pop(), object(i));
  EXPECT_EQ(stack.Pop(), nullptr);
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

// What becomes old during a marking counts as live until the next one.
TEST(MarkPacingTest, NurseriesAreSmallOnceMuchHasBecomeOldMeanwhile) {
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  internal::MarkPacing pacing;
  pacing.Begin(90 * kMiB, 100 * kMiB);
  EXPECT_FALSE(pacing.IsUrgent(91 * kMiB));
  EXPECT_TRUE(pacing.IsUrgent(91 * kMiB + 1));
  EXPECT_FALSE(pacing.IsLate(91 * kMiB + 1));

  // All objects survive, and a MiB takes 2 ms to promote.
  internal::NurseryShare share;
  share.Note(kMiB, kMiB, 2'000'000);
  EXPECT_EQ(share.Part(4 * kMiB, false), kMiB);
  EXPECT_EQ(share.Part(4 * kMiB, true), kMiB / 4);
  // One in ten survives.
  internal::NurseryShare other;
  other.Note(kMiB, 10 * kMiB, 2'000'000);
  EXPECT_EQ(other.Part(4 * kMiB, false), 4 * kMiB);
  EXPECT_NEAR(static_cast<double>(other.Part(4 * kMiB, true)), 1.25 * kMiB, 8);
}

}  // namespace
}  // namespace allomon::gc

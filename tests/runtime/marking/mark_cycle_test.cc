// A major collection in slices: the actions of the program between two slices neither lose an
// object nor keep one alive for ever.
//
// The heaps here mark in slices of some 64 objects, and only in pauses, so that hundreds of slices
// alternate with the tests' actions.  `verify` walks the heap when a marking ends (inv.mark.all).
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/collection.h"
#include "tests/runtime/lists.h"
#include "tracker/tracker.h"

namespace allomon::gc {
namespace {

struct Pair {
  Field<Cell> first;
  Field<WeakRef<Cell>> weak;
};

HeapOptions InSmallSlices() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 64 << 20;  // the tests begin collections themselves
  options.incremental_from_bytes = 0;
  options.background = false;
  options.slice_looks = 1;
  options.verify = true;
  return options;
}

class MarkCycleTest : public ::testing::Test {
 protected:
  explicit MarkCycleTest(const HeapOptions& options = InSmallSlices())
      : heap_(Heap::Create(options).value()), mutator_(*heap_) {}

  internal::MarkState& cycle() { return heap_->core().cycle; }
  void BeginWithStack() {
    internal::CollectForGrowth(heap_->core(), internal::CurrentMutator());
    ASSERT_TRUE(cycle().is_marking());
  }
  // Does not scan this thread's stack: its stale words might keep objects that a test has dropped.
  void Begin() {
    heap_->core().scans_stacks = false;
    BeginWithStack();
    heap_->core().scans_stacks = true;
  }
  void Slice() { heap_->CollectFromTop(CollectionKind::kMinor); }
  int FinishMarking() {
    int slices = 0;
    for (; cycle().is_marking(); ++slices) Slice();
    return slices;
  }
  int Finish() {
    int slices = 0;
    for (; cycle().is_active(); ++slices) Slice();
    return slices;
  }

  std::unique_ptr<Heap> heap_;
  Mutator mutator_;
};

TEST_F(MarkCycleTest, AReferenceThatMovesBehindTheMarkerKeepsItsObject) {
  constexpr size_t kLists = 240;
  Root<Array<Cell>> from = make_array<Cell>(kLists);
  Root<Array<Cell>> to = make_array<Cell>(kLists);
  for (size_t i = 0; i < kLists; ++i) from->at(i) = MakeList(20);
  Begin();
  // Each reference moves once, some to places before the marker's position and some to places after
  // it.
  size_t moved = 0;
  int slices = 0;
  for (; cycle().is_marking(); ++slices) {
    for (int k = 0; k < 4 && moved < kLists; ++k, ++moved) {
      to->at(kLists - 1 - moved) = from->at(moved);
      from->at(moved) = nullptr;
    }
    Slice();
  }
  EXPECT_GT(slices, 20);
  Finish();
  for (size_t i = 0; i < kLists; ++i) {
    const Local<Cell> list = i < moved ? to->at(kLists - 1 - i) : from->at(i);
    ASSERT_EQ(Sum(list), 190) << i;
  }
}

// The same by ranges: what they overwrite is noted.
TEST_F(MarkCycleTest, ReferencesThatAreCopiedBehindTheMarkerKeepTheirObjects) {
  constexpr size_t kLists = 1200;
  Root<Array<Cell>> from = make_array<Cell>(kLists);
  Root<Array<Cell>> to = make_array<Cell>(kLists);
  for (size_t i = 0; i < kLists; ++i) from->at(i) = MakeList(20);
  Begin();
  size_t moved = 0;
  for (; cycle().is_marking(); Slice()) {
    for (int k = 0; k < 4 && moved < kLists; ++k, moved += 10) {
      copy_array<Cell>(to, kLists - 10 - moved, from, moved, 10);
      fill_array<Cell>(from, moved, moved + 10, moved % 20 == 0 ? nullptr : MakeList(3));
    }
  }
  EXPECT_GT(moved, 400u);
  Finish();
  for (size_t i = 0; i < kLists; ++i) {
    const size_t block = i / 10 * 10;
    const Local<Cell> list = i < moved ? to->at(kLists - 10 - block + i % 10) : from->at(i);
    ASSERT_EQ(Sum(list), 190) << i;
    if (i < moved) {
      ASSERT_EQ(Sum(from->at(i)), block % 20 == 0 ? 0 : 3);
    }
  }
}

TEST_F(MarkCycleTest, AReferenceThatOnlyTheStackHasKeepsItsObject) {
  Root<Array<Cell>> from = make_array<Cell>(200);
  for (size_t i = 0; i < 200; ++i) from->at(i) = MakeList(20);
  BeginWithStack();
  std::vector<Local<Cell>> taken;  // seen: locals.h
  for (size_t i = 0; i < 200; ++i) {
    taken.push_back(from->at(i));
    from->at(i) = nullptr;
    if (i % 10 == 0) heap_->Collect(CollectionKind::kMinor);
  }
  while (cycle().is_active()) heap_->Collect(CollectionKind::kMinor);
  for (const Local<Cell>& list : taken) ASSERT_EQ(Sum(list), 190);
}

__attribute__((noinline)) void Drop(Root<Cell>& root) { root = nullptr; }

TEST_F(MarkCycleTest, WhatDiesBeforeIsFreedAndWhatDiesMeanwhileIsFreedByTheNext) {
  Root<Cell> before = MakeList(1000);
  Root<Cell> meanwhile = MakeList(2000);
  Root<Cell> lives = MakeList(3000);
  // An object to which a stale word has given tenure would keep its list for another collection.
  heap_->CollectFromTop(CollectionKind::kMajor);
  Slice();
  const uint64_t all = heap_->statistics().old_words;
  EXPECT_EQ(all, 6000u * 3);
  Drop(before);
  Begin();
  Drop(meanwhile);
  Finish();
  EXPECT_EQ(heap_->statistics().old_words, 5000u * 3);
  EXPECT_EQ(heap_->statistics().major_collections, 2u);
  Begin();
  Finish();
  EXPECT_EQ(heap_->statistics().old_words, 3000u * 3);
  EXPECT_EQ(Sum(lives), 3000L * 2999 / 2);
}

TEST_F(MarkCycleTest, WhatIsMadeMeanwhileLivesAndIsCounted) {
  Root<Cell> old = MakeList(3000);
  Begin();
  std::vector<Root<Cell>> made;
  std::vector<Root<Bytes>> large;
  while (cycle().is_marking()) {
    made.push_back(MakeList(10));
    if (made.size() % 8 == 0) large.push_back(make_bytes(std::string(9000, 'x')));
    Slice();
  }
  EXPECT_GT(made.size(), 10u);
  EXPECT_GT(large.size(), 0u);
  Finish();
  for (const Root<Cell>& list : made) ASSERT_EQ(Sum(list), 45);
  for (const Root<Bytes>& bytes : large) ASSERT_EQ(bytes->view(), std::string(9000, 'x'));
  // Nothing else lives, so a collection in one pause finds the same objects.
  const uint64_t counted = heap_->statistics().old_words;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, counted);
}

TEST_F(MarkCycleTest, AWeakReferenceThatIsReadMeanwhileKeepsItsObject) {
  Root<Cell> filler = MakeList(3000);
  Root<Cell> target = MakeList(5);
  Root<WeakRef<Cell>> weak = make_weak<Cell>(target);
  Root<WeakRef<Cell>> unread = make_weak<Cell>(MakeList(1));
  Root<Pair> pair = make<Pair>(nullptr, nullptr);
  Slice();
  unread = make_weak<Cell>(filler->tail);  // and one whose target lives anyway
  Root<WeakRef<Cell>> dead = make_weak<Cell>(make<Cell>(1, nullptr));
  Slice();
  Drop(target);
  Begin();
  Slice();
  pair->first = target_of<Cell>(weak);
  ASSERT_TRUE(pair->first);
  Finish();
  EXPECT_EQ(Sum(pair->first), 10);
  EXPECT_EQ(target_of<Cell>(weak), pair->first);
  EXPECT_TRUE(target_of<Cell>(unread));
  EXPECT_FALSE(target_of<Cell>(dead));
}

TEST_F(MarkCycleTest, AWeakReferenceToTheDeadIsCleared) {
  Root<Cell> filler = MakeList(3000);
  Root<Cell> target = MakeList(5);
  Root<WeakRef<Cell>> weak = make_weak<Cell>(target);
  Slice();
  Slice();
  Drop(target);
  Begin();
  Finish();
  EXPECT_FALSE(target_of<Cell>(weak));
}

// The ephemeron is young when the collection begins, so it is not marked; its target is old.
TEST_F(MarkCycleTest, AWeakReferenceThatStaysYoungIsNotLeftDangling) {
  Root<Cell> filler = MakeList(3000);
  Root<Cell> target = MakeList(5);
  Slice();
  const Local<WeakRef<Cell>> weak = make_weak<Cell>(target);
  Drop(target);
  BeginWithStack();
  while (cycle().is_active()) heap_->Collect(CollectionKind::kMinor);
  const Local<Cell> found = target_of<Cell>(weak);
  ASSERT_TRUE(found);  // an ephemeron that is young when a collection begins keeps key and value
  EXPECT_EQ(Sum(found), 10);
  heap_->Collect(CollectionKind::kMajor);
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_TRUE(weak);
}

TEST_F(MarkCycleTest, AnEphemeronsValueLivesAsLongAsItsKey) {
  Root<Cell> filler = MakeList(2000);
  Root<Cell> key = MakeList(1);
  Root<Cell> dying = MakeList(1);
  Root<Ephemeron<Cell, Cell>> kept = make_ephemeron<Cell, Cell>(key, MakeList(100));
  Root<Ephemeron<Cell, Cell>> lost = make_ephemeron<Cell, Cell>(dying, MakeList(100));
  Slice();
  Slice();
  Drop(dying);
  Begin();
  Finish();
  EXPECT_EQ(Sum(value_of<Cell, Cell>(kept)), 4950);
  EXPECT_FALSE((value_of<Cell, Cell>(lost)));
}

// The table is read, grows, and gets young and old keys, while it waits to be looked at.
TEST_F(MarkCycleTest, AWeakMapIsUsedWhileItIsMarked) {
  constexpr size_t kKeys = 300;
  Root<Cell> filler = MakeList(5000);
  Root<Array<Cell>> keys = make_array<Cell>(kKeys);
  for (size_t i = 0; i < kKeys; ++i) keys->at(i) = make<Cell>(static_cast<long>(i), nullptr);
  Root<WeakMap<Cell, Cell>> map = make_weak_map<Cell, Cell>();
  for (size_t i = 0; i < kKeys / 2; ++i) map->set(keys->at(i), MakeList(20));
  Slice();
  for (int round = 0; round < 4; ++round) {
    Begin();
    size_t next = kKeys / 2;
    Root<Array<Cell>> found = make_array<Cell>(kKeys);
    for (size_t i = 0; cycle().is_marking(); ++i) {
      Slice();
      if (i < kKeys / 4) {  // the value is moved from the map to an array
        found->at(i) = map->get(keys->at(i));
        map->set(keys->at(i), nullptr);
      }
      if (next == kKeys) continue;
      map->set(make<Cell>(-1, nullptr), MakeList(3));  // the next slice clears it
      map->set(keys->at(next++), MakeList(20));
    }
    EXPECT_EQ(next, kKeys);
    Finish();
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_TRUE(map->has(keys->at(i)));
      ASSERT_EQ(Sum(found->at(i) ? Local<Cell>(found->at(i)) : map->get(keys->at(i))), 190) << i;
      if (found->at(i)) map->set(keys->at(i), found->at(i));
    }
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_EQ(map->size(), kKeys);
    for (size_t i = kKeys / 2; i < kKeys; ++i) map->erase(keys->at(i));
  }
}

TEST_F(MarkCycleTest, EntriesOfAWeakMapGoInSlices) {
  constexpr size_t kKeys = 200;
  Root<Cell> filler = MakeList(3000);
  Root<Array<Cell>> keys = make_array<Cell>(kKeys);
  Root<WeakMap<Cell, Cell>> map = make_weak_map<Cell, Cell>();
  for (size_t i = 0; i < kKeys; ++i) {
    keys->at(i) = make<Cell>(static_cast<long>(i), nullptr);
    map->set(keys->at(i), keys->at(i));  // a value that is its own key
  }
  Slice();
  Slice();
  for (size_t i = 0; i < kKeys; i += 2) keys->at(i) = nullptr;
  Begin();
  Finish();
  EXPECT_EQ(map->size(), kKeys / 2);
  for (size_t i = 1; i < kKeys; i += 2) ASSERT_EQ(map->get(keys->at(i)), keys->at(i));
}

// A minor collection clears an ephemeron that the marker has already met and linked to the others.
TEST_F(MarkCycleTest, AnEphemeronThatIsClearedMeanwhileDoesNotHideOthers) {
  constexpr size_t kPairs = 100;
  Root<Cell> filler = MakeList(3000);
  Root<Array<Cell>> keys = make_array<Cell>(kPairs);
  Root<Array<Ephemeron<Cell, Cell>>> pairs = make_array<Ephemeron<Cell, Cell>>(kPairs);
  for (size_t i = 0; i < kPairs; ++i) {
    keys->at(i) = make<Cell>(1, nullptr);
    pairs->at(i) = make_ephemeron<Cell, Cell>(keys->at(i), MakeList(20));
  }
  Slice();
  Begin();
  int cleared = 0;
  for (size_t i = 0; cycle().is_marking(); i = (i + 37) % kPairs) {
    set_ephemeron<Cell, Cell>(pairs->at(i), make<Cell>(2, nullptr), nullptr);
    Slice();
    cleared += !key_of<Cell, Cell>(pairs->at(i));
    keys->at(i) = nullptr;
  }
  EXPECT_GT(cleared, 20);
  Finish();
  for (size_t i = 0; i < kPairs; ++i) {
    if (keys->at(i)) {
      ASSERT_EQ(Sum(value_of<Cell, Cell>(pairs->at(i))), 190) << i;
    }
  }
}

TEST_F(MarkCycleTest, FinalizersAndReleasesRunOnceAndTrackersAreTold) {
  struct Counts {
    std::optional<char> alloc_minor(const Allocation&) { return 0; }
    std::optional<char> alloc_major(const Allocation&) { return 0; }
    std::optional<char> promote(char value) { return value; }
    void dealloc_minor(char) { ++*freed; }
    void dealloc_major(char) { ++*freed; }
    int* freed;
  };
  static int finalized, released;
  finalized = released = 0;
  int freed = 0;
  const auto id = Tracker::start(1.0, Counts{&freed});
  ASSERT_TRUE(id.ok());
  Root<Cell> lives = MakeList(2000);
  Root<Cell> dies = MakeList(50);
  {
    Root<CustomBlock> block = make_custom(&released, 100, [](void* n) { ++*static_cast<int*>(n); });
    add_finalizer<Cell>(dies, [](Handle<Cell> cell) {
      ++finalized;
      EXPECT_EQ(Sum(cell), 1225);
    });
    Slice();
  }
  Slice();
  Drop(dies);
  const int freed_before = freed;
  Begin();
  Finish();
  Slice();
  EXPECT_EQ(finalized, 1);
  EXPECT_EQ(released, 1);
  EXPECT_EQ(freed,
            freed_before + 2);  // the custom block's object and its bytes; the list is revived
  Begin();
  Finish();
  Slice();
  EXPECT_EQ(finalized, 1);
  EXPECT_EQ(freed, freed_before + 2 + 50);
  Tracker::stop().IgnoreError();
  Tracker::discard(*id).IgnoreError();
}

// Collect(kMajor) finds every unreachable object, also those that died since a marking
// in slices began.
TEST_F(MarkCycleTest, OneCollectionFindsTheFinalizersOfParentAndChild) {
  static std::vector<long> finalized;
  constexpr int kMostSlices = 40;
  for (int slices = 0; slices < kMostSlices; ++slices) {
    finalized.clear();
    Root<Cell> lives = MakeList(3000);
    Root<Cell> child = make<Cell>(1, nullptr);
    Root<Cell> parent = make<Cell>(2, child);
    Root<Cell> late = make<Cell>(3, nullptr);
    const auto note = [](Handle<Cell> cell) { finalized.push_back(cell->head); };
    add_finalizer<Cell>(parent, note);
    add_finalizer<Cell>(child, note);
    add_finalizer<Cell>(late, note);
    Root<WeakRef<Cell>> weak = make_weak<Cell>(late);
    heap_->CollectFromTop(CollectionKind::kMajor);
    Drop(parent);
    Begin();
    for (int i = 0; i < slices && cycle().is_marking(); ++i) Slice();
    // The parent's finalizer may be due since the marking ended, and then keeps the child.
    const bool marking = cycle().is_marking();
    Drop(child);
    Drop(late);
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_FALSE(cycle().is_active());
    EXPECT_FALSE(target_of<Cell>(weak));
    if (marking) {
      ASSERT_EQ(finalized, (std::vector<long>{2, 1, 3})) << "behind slices: " << slices;
    }
    EXPECT_EQ(Sum(lives), 3000L * 2999 / 2);
    heap_->CollectFromTop(CollectionKind::kMajor);
    ASSERT_EQ(finalized.size(), 3u);
    if (!marking) break;
  }
}

// Tenure is taken in the pause that ends the marking.  All slots that point to the object, stored
// before or during the marking, are updated when it moves.
TEST_F(MarkCycleTest, AnObjectThatLosesItsTenureIsFoundByAllSlots) {
  Root<Array<Cell>> holder = make_array<Cell>(2000);
  {
    const Local<Cell> pinned = make<Cell>(7, nullptr);
    for (int i = 0; i < 3; ++i) heap_->Collect(CollectionKind::kMinor);
    holder->at(0) = pinned;
    heap_->Collect(CollectionKind::kMinor);
    BeginWithStack();
    for (size_t i = 1; cycle().is_marking() && i < 2000; ++i) {
      if (i % 3 == 0) holder->at(i) = pinned;
      heap_->Collect(CollectionKind::kMinor);
    }
    for (size_t i = 0; i < 2000; i += 3) holder->at(i) = pinned;
    asm volatile("" : : "r"(&pinned) : "memory");
  }
  Finish();
  Begin();
  FinishMarking();
  Slice();
  Finish();
  for (size_t i = 0; i < 2000; i += 3) {
    ASSERT_EQ(holder->at(i), holder->at(0));
    ASSERT_EQ(holder->at(i)->head, 7);
  }
  EXPECT_FALSE(internal::IsYoung(internal::RawOf(holder->at(0))));
}

// The objects that only an object with tenure refers to live as long as it is reachable.
TEST_F(MarkCycleTest, AnObjectWithTenureKeepsItsListWhileItIsReachable) {
  Root<Cell> filler = MakeList(3000);
  Root<Array<Cell>> holder = make_array<Cell>(2000);
  const auto settle = [&](size_t i) {
    const Local<Cell> pinned = MakeList(100);
    for (int k = 0; k < 3; ++k) heap_->Collect(CollectionKind::kMinor);
    holder->at(i) = pinned;
    heap_->Collect(CollectionKind::kMinor);
    EXPECT_TRUE(internal::IsYoung(internal::RawOf(holder->at(i))));
  };
  settle(0);
  settle(1999);
  const uint64_t both = heap_->statistics().old_words;
  holder->at(0) = nullptr;
  Begin();
  // The reference to the other object moves to a place already marked, and its list is cut.
  const Local<Cell> taken = holder->at(1999);
  holder->at(1999) = nullptr;
  holder->at(0) = taken;
  const Local<Cell> rest = taken->tail;
  taken->tail = nullptr;
  while (cycle().is_active()) heap_->Collect(CollectionKind::kMinor);
  EXPECT_EQ(Sum(rest), 99L * 98 / 2);
  EXPECT_EQ(holder->at(0)->head, 99);
  EXPECT_EQ(heap_->statistics().old_words, both - 100 * 3);
}

// Two chains, in which all keys but the first have tenure, are followed to their ends: whatever the
// marker's order, one of them is listed from its end.
TEST_F(MarkCycleTest, EphemeronsWhoseKeysHaveTenureAreFollowed) {
  using Pair = Ephemeron<Cell, Cell>;
  constexpr size_t kLength = 4;
  Root<Cell> filler = MakeList(1000);
  Root<Cell> first = make<Cell>(0, nullptr);
  Root<Array<Pair>> chains[2] = {make_array<Pair>(kLength), make_array<Pair>(kLength)};
  const auto pair = [&](size_t chain, size_t i) -> Local<Pair> {
    return chains[chain]->at(chain == 0 ? i : kLength - 1 - i);
  };
  {
    Local<Cell> values[2][kLength];
    for (size_t chain = 0; chain < 2; ++chain) {
      for (size_t i = 0; i < kLength; ++i) {
        const Local<Cell> key = i == 0 ? Local<Cell>(first) : values[chain][i - 1];
        values[chain][i] = make<Cell>(static_cast<long>(i), nullptr);
        chains[chain]->at(chain == 0 ? i : kLength - 1 - i) =
            make_ephemeron<Cell, Cell>(key, values[chain][i]);
      }
    }
    for (int i = 0; i < 3; ++i) heap_->Collect(CollectionKind::kMinor);
    ASSERT_TRUE(internal::IsYoung(internal::RawOf(values[1][kLength - 1])));
    asm volatile("" : : "r"(&values) : "memory");
  }
  Begin();
  Finish();
  for (size_t chain = 0; chain < 2; ++chain) {
    for (size_t i = 0; i < kLength; ++i) {
      const Local<Cell> value = value_of<Cell, Cell>(pair(chain, i));
      ASSERT_TRUE(value) << chain << " " << i;
      EXPECT_EQ(value->head, static_cast<long>(i));
    }
  }
}

TEST_F(MarkCycleTest, ALongArrayIsMarkedWhileItChanges) {
  constexpr size_t kLength = 40000;
  Root<Array<Cell>> array = make_array<Cell>(kLength);
  std::vector<bool> has_list(kLength);
  for (size_t i = 0; i < kLength; i += 50) {
    array->at(i) = MakeList(3);
    has_list[i] = true;
  }
  Begin();
  for (size_t i = 0; cycle().is_marking(); i = (i + 7950) % kLength) {
    const size_t to = (i + 50) % kLength;
    const Local<Cell> taken = array->at(i);
    array->at(i) = nullptr;
    array->at(to) = taken;
    has_list[to] = has_list[i];
    has_list[i] = false;
    Slice();
  }
  Finish();
  for (size_t i = 0; i < kLength; ++i) {
    ASSERT_EQ(static_cast<bool>(array->at(i)), has_list[i]);
    if (has_list[i]) {
      ASSERT_EQ(Sum(array->at(i)), 3);
    }
  }
}

TEST_F(MarkCycleTest, ACollectionAtOnceEndsTheOneInSlices) {
  Root<Cell> lives = MakeList(3000);
  Root<Cell> dies = MakeList(3000);
  Begin();
  Slice();
  Drop(dies);
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_FALSE(cycle().is_active());
  EXPECT_EQ(heap_->statistics().old_words, 3000u * 3);
  EXPECT_EQ(heap_->statistics().major_collections, 1u);  // the one in slices was given up
}

TEST_F(MarkCycleTest, AForkedChildEndsTheCollection) {
  Root<Array<Cell>> from = make_array<Cell>(300);
  for (size_t i = 0; i < 300; ++i) from->at(i) = MakeList(20);
  Begin();
  Slice();
  const auto is_whole = [&] {
    for (size_t i = 0; i < 150; ++i) {
      from->at(i + 150) = from->at(i);
      from->at(i) = nullptr;
      Slice();
    }
    Finish();
    Begin();
    Finish();
    for (size_t i = 150; i < 300; ++i) {
      if (Sum(from->at(i)) != 190) return false;
    }
    return true;
  };
  const pid_t child = fork();
  if (child == 0) _exit(is_whole() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_whole());
}

class SmallFloorTest : public MarkCycleTest {
 protected:
  static HeapOptions Options() {
    HeapOptions options = InSmallSlices();
    options.growth_floor_bytes = 1 << 20;
    options.verify = false;
    return options;
  }
  SmallFloorTest() : MarkCycleTest(Options()) {}
};

// A sweep leaves the same free blocks as a collection in one pause.
TEST_F(SmallFloorTest, DeadMemoryIsUsedAgainAndGivenBack) {
  Root<Cell> dies = MakeList(400000);
  Root<Cell> lives = MakeList(1000);
  Finish();
  const uint64_t full = heap_->statistics().old_space_bytes;
  EXPECT_GT(full, uint64_t{9} << 20);
  Drop(dies);
  Begin();
  Finish();
  EXPECT_LT(heap_->statistics().old_space_bytes, full);
  const uint64_t swept = heap_->statistics().old_space_bytes;
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_space_bytes, swept);
}

// If there is no memory for a mark stack, walks over the marked objects find the others.
class SmallStackTest : public MarkCycleTest {
 protected:
  static HeapOptions Options() {
    HeapOptions options = InSmallSlices();
    options.mark_stack_entries = 16;
    return options;
  }
  SmallStackTest() : MarkCycleTest(Options()) {}
};

struct Tree {
  Field<Tree> children[16];
};

Local<Tree> MakeTree(int depth) {
  const Local<Tree> tree = make<Tree>();
  if (depth == 0) return tree;
  for (Field<Tree>& child : tree->children) child = MakeTree(depth - 1);
  return tree;
}

long Count(Handle<Tree> tree) {
  long count = 1;
  for (Field<Tree>& child : tree->children) count += child ? Count(child) : 0;
  return count;
}

TEST_F(SmallStackTest, ObjectsThatFoundNoRoomOnTheStackAreMarked) {
  Root<Tree> tree = MakeTree(3);
  const long count = Count(tree);
  Begin();
  Finish();
  EXPECT_EQ(Count(tree), count);
}

}  // namespace
}  // namespace allomon::gc

// The memory orders of tracker/base/: the tagged free list, the chain index, its array and lock.
#include "tests/model/memory_order/real_code.h"

// The sources under test.
#include "tracker/base/chain_index.h"
#include "tracker/base/spin_lock.h"
#include "tracker/base/tagged_free_list.h"

namespace allomon::internal {
namespace {

using model::Bounds;
using model::Expect;
using model::FindAllBarriers;
using model::Program;

// --- The tagged free list.

constexpr uint32_t kElements = 3;

struct ListUnderTest {
  TaggedFreeList<struct ListLinks> list;
  std::atomic<uint32_t> next[kElements + 1] = {};
  uint32_t user[kElements + 1] = {};  // plain: an element has one user at a time
};

struct ListLinks {
  static constexpr uint32_t kNone = 0;
  ListUnderTest* of;
  uint32_t Next(uint32_t element) const {
    return of->next[element].load(std::memory_order_relaxed);
  }
  void SetNext(uint32_t element, uint32_t next) const {
    of->next[element].store(next, std::memory_order_relaxed);
  }
};

ListUnderTest* list_under_test = nullptr;

// A race on `user` means that two threads have the element, or that its last user goes on.
void Use(uint32_t element) {
  uint32_t& user = list_under_test->user[element];
  user = user + 1;
}

uint32_t Take() {
  const uint32_t element = list_under_test->list.Pop({list_under_test});
  if (element != 0) Use(element);
  return element;
}

void Give(uint32_t element) {
  if (element != 0) list_under_test->list.Push({list_under_test}, element);
}

void FillList(uint32_t elements) {
  list_under_test = new (model::Map(sizeof(ListUnderTest))) ListUnderTest;
  for (uint32_t i = elements; i > 0; --i) Give(i);
}

void CheckAllAreThere() {
  bool found[kElements + 1] = {};
  uint32_t count = 0;
  for (uint32_t element; (element = Take()) != 0; ++count) {
    Expect(element <= kElements && !found[element], "an element is twice in the list");
    if (element > kElements || found[element]) return;
    found[element] = true;
  }
  Expect(count == kElements, "an element is lost");
}

// The second thread brings the first one's element back over another successor (ABA).
Program PopBesidePushes() {
  return {[] { FillList(kElements); },
          {[] { Give(Take()); },
           [] {
             const uint32_t first = Take();
             const uint32_t second = Take();
             Give(first);
             Give(second);
           }},
          CheckAllAreThere};
}

Program ChainsBesidePops() {
  return {[] { FillList(kElements); },
          {[] {
             uint32_t last = 0;
             uint32_t count = 0;
             const uint32_t first =
                 list_under_test->list.PopChain({list_under_test}, 2, &last, &count);
             if (first == 0) return;
             Use(first);
             if (last != first) Use(last);
             list_under_test->list.PushChain({list_under_test}, first, last);
           },
           [] {
             const uint32_t first = Take();
             const uint32_t second = Take();
             Give(first);
             Give(second);
           }},
          CheckAllAreThere};
}

// A head has another tag after each change.  So an exchange that succeeds replaces the head that
// the load, or the failed exchange, has acquired.
TEST(MemoryOrder, TaggedFreeList) {
  EXPECT_EQ("",
            FindAllBarriers({PopBesidePushes(), ChainsBesidePops()}, {3, 3}, {"tagged_free_list.h"},
                            {"tagged_free_list.h Pop compare_exchange acquire",
                             "tagged_free_list.h PopChain compare_exchange acquire"}));
}

// --- The chain index, its array and its lock.

constexpr uint32_t kMostRecords = 16;

// Two heads on a page, and one chain at first: the second record splits it, the third one needs
// another page.
struct IndexUnderTest {
  struct Record {
    uint64_t hash = 0;  // plain: complete before the record is inserted
    std::atomic<uint32_t> next{0};
  };
  std::atomic<uint32_t>& Next(uint32_t number) const { return records[number].next; }
  uint64_t HashOf(uint32_t number) const { return records[number].hash; }

  ChainIndex<kMostRecords, 1, 2> index;
  SpinLock lock;
  mutable Record records[kMostRecords];
};

using ArrayUnderTest = OwnArray<std::atomic<uint32_t>, kMostRecords, 2>;

IndexUnderTest* index_under_test = nullptr;
ArrayUnderTest* array_under_test = nullptr;

void MakeIndex() {
  BeginOwnMemory();
  index_under_test = new (model::Map(sizeof(IndexUnderTest))) IndexUnderTest;
}

void InsertRecord(uint32_t number, uint64_t hash) {
  IndexUnderTest& test = *index_under_test;
  const SpinLockHolder hold(test.lock);
  Expect(test.index.Reserve(), "no room");
  test.records[number].hash = hash;
  test.index.Insert(number, test);
}

void RemoveRecord(uint32_t number) {
  IndexUnderTest& test = *index_under_test;
  const SpinLockHolder hold(test.lock);
  test.index.Remove(number, test);
}

uint32_t FindRecord(uint64_t hash) {
  IndexUnderTest& test = *index_under_test;
  return test.index.Find(hash, test,
                         [&](uint32_t number) { return test.records[number].hash == hash; });
}

void ExpectFound(uint64_t hash, uint32_t number) {
  const SpinLockHolder hold(index_under_test->lock);
  Expect(FindRecord(hash) == number, "a record is not found under the lock");
}

// From no record at all.
Program FindBesideFirstInserts() {
  return {MakeIndex,
          {[] {
             InsertRecord(1, 0);
             ExpectFound(0, 1);
           },
           [] { InsertRecord(2, 1); },
           [] {
             FindRecord(1);
             FindRecord(0);
           }},
          [] {
            ExpectFound(0, 1);
            ExpectFound(1, 2);
          }};
}

// A head leads to a record of another thread's than the one that has stored the head, since that
// one has removed the first record.
Program FindBesideRemove() {
  return {[] {
            MakeIndex();
            InsertRecord(1, 0);
          },
          {[] {
             InsertRecord(2, 0);
             InsertRecord(3, 0);
           },
           [] {
             model::WaitUntil([] { return index_under_test->records[3].next != 0; });
             RemoveRecord(3);
           },
           [] { FindRecord(0); }},
          [] { ExpectFound(0, 2); }};
}

// Since that one has moved the first record to a fresh chain.
Program FindBesideSplit() {
  return {[] {
            MakeIndex();
            InsertRecord(1, 0);
          },
          {[] { InsertRecord(2, 0); },
           [] {
             model::WaitUntil([] { return index_under_test->records[2].next != 0; });
             InsertRecord(3, 2);
           },
           [] { FindRecord(0); }},
          [] {
            ExpectFound(0, 2);
            ExpectFound(2, 3);
          }};
}

// The thread that looks is at a record that moves, and then reaches one that is new.
Program FindBesideMove() {
  return {[] {
            MakeIndex();
            InsertRecord(1, 2);
            InsertRecord(2, 0);
          },
          {[] { InsertRecord(3, 2); }, [] { FindRecord(6); }},
          [] {
            ExpectFound(0, 2);
            ExpectFound(2, 1);
          }};
}

// A page of which the thread that finds it has learnt nothing else.
Program FindBesideReserve() {
  return {[] {
            MakeIndex();
            array_under_test = new (model::Map(sizeof(ArrayUnderTest))) ArrayUnderTest;
            Expect(array_under_test->Reserve(0), "no room");
          },
          {[] { Expect(array_under_test->Reserve(2), "no room"); },
           [] {
             const std::atomic<uint32_t>* const found = array_under_test->Find(2);
             if (found != nullptr) found->load(std::memory_order_relaxed);
           }}};
}

// Callers of At() have acquired the index, and with it the page.
TEST(MemoryOrder, ChainIndex) {
  EXPECT_EQ("", FindAllBarriers({FindBesideReserve(), FindBesideMove(), FindBesideSplit(),
                                 FindBesideFirstInserts(), FindBesideRemove()},
                                {2, 1}, {"chain_index.h", "own_array.h", "spin_lock.h"},
                                {"own_array.h At load acquire"}));
}

// --- The arena.

BumpArena arena_under_test;

// One thread maps the chunk in which the other one takes a piece.
Program AllocateBesideAllocate() {
  const auto allocate = [] {
    const BumpArena::Ref ref = arena_under_test.Allocate(8);
    Expect(ref != 0, "no room");
    *static_cast<uint64_t*>(arena_under_test.At(ref)) = ref;
  };
  return {[] {
            BeginOwnMemory();
            new (&arena_under_test) BumpArena();
          },
          {allocate, allocate}};
}

// At() acquires the chunk once more.
TEST(MemoryOrder, Arena) {
  EXPECT_EQ("", FindAllBarriers({AllocateBesideAllocate()}, {3, 3}, {"own_memory.cc"},
                                {"own_memory.cc EnsureChunk load acquire"}));
}

}  // namespace
}  // namespace allomon::internal

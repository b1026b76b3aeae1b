// Lists, trees, finalizers, weak references and ephemerons on several threads at once, like the
// classical stress tests of collectors.
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/weak.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};
struct Tree {
  Field<Tree> left;
  Field<Tree> right;
  long key;
};

Local<Cell> Interval(long from, long to) {
  Local<Cell> list;
  while (to > from) list = make<Cell>(--to, list);
  return list;
}

// Reverses the tail by recursion, so that every level holds roots.
Local<Cell> Append(Handle<Cell> a, Handle<Cell> b) {
  if (!a) return b;
  const long head = a->head;
  return make<Cell>(head, Append(a->tail, b));
}
Local<Cell> Reverse(Handle<Cell> list) {
  if (!list) return nullptr;
  const Local<Cell> rest = Reverse(list->tail);
  const Local<Cell> last = make<Cell>(list->head, nullptr);
  return Append(rest, last);
}

bool IsInterval(Handle<Cell> list, long from, long to) {
  Local<Cell> cell = list;
  for (; cell; cell = cell->tail, ++from) {
    if (cell->head != from) return false;
  }
  return from == to;
}

Local<Tree> MakeTree(long from, long to) {
  if (from == to) return nullptr;
  const long middle = (from + to) / 2;
  const Local<Tree> left = MakeTree(from, middle);
  const Local<Tree> right = MakeTree(middle + 1, to);
  return make<Tree>(left, right, middle);
}
// Replaces a random half of the path to `key` by fresh nodes, in place.  Old trees then point to
// young ones.
void Renew(Handle<Tree> root, long key) {
  for (Local<Tree> node = root; node && node->key != key;) {
    Field<Tree>& child = key < node->key ? node->left : node->right;
    if (child) {
      const bool is_left = key < node->key;
      const Local<Tree> old = child;
      const Local<Tree> fresh = make<Tree>(old->left, old->right, old->key);
      (is_left ? node->left : node->right) = fresh;
    }
    node = key < node->key ? node->left : node->right;
  }
}
bool IsTree(Handle<Tree> tree, long from, long to) {
  if (!tree) return from == to;
  const long middle = (from + to) / 2;
  return tree->key == middle && IsTree(tree->left, from, middle) &&
         IsTree(tree->right, middle + 1, to);
}

struct Totals {
  std::atomic<long> finalizers_made{0}, finalizers_run{0}, wrong{0};
};

// `alone`: no other thread's stack has stale words of these objects from a collection that it ran.
// So deaths are exact.
void Torture(Heap& heap, Totals* totals, int rounds, bool alone) {
  const Mutator mutator(heap);
  const Root<Tree> tree = MakeTree(0, 500);
  const Root<Cell> kept = Interval(0, 300);
  Root<Cell> reversed = kept;
  std::vector<Local<WeakRef<Cell>>> weak;
  for (int round = 0; round < rounds; ++round) {
    reversed = Reverse(reversed);
    if (round % 2 == 1) totals->wrong += !IsInterval(reversed, 0, 300);
    for (long key = round; key < 500; key += 37) Renew(tree, key);
    totals->wrong += !IsTree(tree, 0, 500);

    // These objects die with a finalizer.  The finalizer sees its object whole and runs once.
    for (int i = 0; i < 5; ++i) {
      ++totals->finalizers_made;
      add_finalizer<Cell>(make<Cell>(round, make<Cell>(i, nullptr)),
                          [totals, round, i](Handle<Cell> cell) {
                            ++totals->finalizers_run;
                            totals->wrong += cell->head != round || cell->tail->head != i;
                            make<Cell>(1, cell);
                          });
    }
    // A weak reference to an object that lives, or to one that dies.
    weak.push_back(make_weak<Cell>(round % 2 == 0 ? kept : Root<Cell>(make<Cell>(round, nullptr))));

    // A chain of ephemerons: each value is the next one's key, and the first key is held.
    Root<Cell> first = make<Cell>(0, nullptr);
    Root<Cell> key = first;
    std::vector<Local<Ephemeron<Cell, Cell>>> chain;
    for (long i = 0; i < 10; ++i) {
      const Local<Cell> value = make<Cell>(i, nullptr);
      chain.insert(chain.begin(), make_ephemeron<Cell, Cell>(key, value));
      key = value;
    }
    key = nullptr;
    heap.CollectFromTop(round % 8 == 0 ? CollectionKind::kMajor : CollectionKind::kMinor);
    for (size_t i = 0; i < chain.size(); ++i) {
      const Local<Cell> value = value_of<Cell, Cell>(chain[i]);
      totals->wrong += !value || value->head != 9 - static_cast<long>(i);
    }
    first = nullptr;
    if (round % 16 == 0) {
      heap.CollectFromTop(CollectionKind::kMajor);
      for (const auto& ephemeron : chain) totals->wrong += alone && value_of<Cell, Cell>(ephemeron);
    }
  }
  heap.CollectFromTop(CollectionKind::kMajor);
  for (size_t i = 0; i < weak.size(); ++i) {
    const bool lives = target_of<Cell>(weak[i]) == kept;
    totals->wrong += i % 2 == 0 ? !lives : lives;
    totals->wrong += alone && i % 2 != 0 && target_of<Cell>(weak[i]);
  }
}

struct Case {
  const char* options;
  int threads;
  int rounds;
};
class TortureTest : public ::testing::TestWithParam<Case> {};

TEST_P(TortureTest, ListsTreesFinalizersWeakReferences) {
  HeapOptions options;
  ASSERT_TRUE(options.Parse(GetParam().options).ok());
  const auto heap = Heap::Create(options).value();
  Totals totals;
  std::vector<std::thread> threads;
  for (int t = 0; t < GetParam().threads; ++t) {
    threads.emplace_back(
        [&] { Torture(*heap, &totals, GetParam().rounds, GetParam().threads == 1); });
  }
  for (std::thread& thread : threads) thread.join();
  {
    const Mutator mutator(*heap);
    heap->CollectFromTop(CollectionKind::kMajor);
  }
  EXPECT_EQ(totals.wrong, 0);
  EXPECT_EQ(totals.finalizers_run, totals.finalizers_made);
  heap->Collect(CollectionKind::kMajor);
  EXPECT_EQ(heap->statistics().old_words, 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, TortureTest,
                         ::testing::Values(Case{"nursery=64K,floor=256K", 1, 200},
                                           Case{"nursery=64K,floor=256K", 4, 60},
                                           Case{"nursery=64K,floor=128K,verify", 2, 8},
                                           Case{"nursery=64K,floor=64K,mark_stack=16", 2, 15},
                                           Case{"nursery=64K,stress=500,verify", 2, 3}));

}  // namespace
}  // namespace allomon::gc

// Weak references, ephemerons, finalizers, custom blocks.
#include <time.h>

#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

// No register or stale word of the caller's frame has the object afterwards.
__attribute__((noinline)) void Drop(Root<Cell>& root) { root = nullptr; }

class LifetimeTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.verify = true;
    return options;
  }
  void Minor() { heap_->CollectFromTop(CollectionKind::kMinor); }
  void Major() { heap_->CollectFromTop(CollectionKind::kMajor); }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

TEST_F(LifetimeTest, WeakReferenceFollowsAndIsCleared) {
  Root<Cell> cell = make<Cell>(7, nullptr);
  Root<WeakRef<Cell>> weak = make_weak<Cell>(cell);
  Minor();
  EXPECT_EQ(target_of<Cell>(weak)->head, 7);
  Major();
  EXPECT_EQ(target_of<Cell>(weak), cell);
  cell = nullptr;
  Major();
  EXPECT_FALSE(target_of<Cell>(weak));
}

TEST_F(LifetimeTest, YoungTargetIsClearedByAMinorCollection) {
  Root<WeakRef<Cell>> weak = make_weak<Cell>(make<Cell>(7, nullptr));
  Minor();
  EXPECT_FALSE(target_of<Cell>(weak));
}

TEST_F(LifetimeTest, OldWeakReferenceToAYoungTarget) {
  Root<WeakRef<Cell>> weak = make_weak<Cell>(nullptr);
  Minor();
  Root<Cell> cell = make<Cell>(1, nullptr);
  set_ephemeron<Cell, void>(weak, cell, nullptr);
  Minor();
  EXPECT_EQ(target_of<Cell>(weak), cell);
}

TEST_F(LifetimeTest, EphemeronValueLivesAsLongAsItsKey) {
  Root<Cell> key = make<Cell>(1, nullptr);
  Root<Ephemeron<Cell, Cell>> e = make_ephemeron<Cell, Cell>(key, make<Cell>(2, nullptr));
  Root<WeakRef<Cell>> value = make_weak<Cell>(value_of<Cell, Cell>(e));
  Minor();
  Major();
  EXPECT_EQ((value_of<Cell, Cell>(e)->head), 2);
  key = nullptr;
  Major();
  EXPECT_FALSE((value_of<Cell, Cell>(e)));
  EXPECT_FALSE(target_of<Cell>(value));
}

TEST_F(LifetimeTest, WithoutAKeyThereIsNoValue) {
  Root<Ephemeron<Cell, Cell>> made = make_ephemeron<Cell, Cell>(nullptr, make<Cell>(1, nullptr));
  Root<Cell> key = make<Cell>(2, nullptr);
  Root<Ephemeron<Cell, Cell>> set = make_ephemeron<Cell, Cell>(key, make<Cell>(3, nullptr));
  for (int i = 0; i < 2; ++i) {
    set_ephemeron<Cell, Cell>(set, nullptr, make<Cell>(4, nullptr));
    EXPECT_FALSE((value_of<Cell, Cell>(made)));
    EXPECT_FALSE((value_of<Cell, Cell>(set)));
    Minor();
    Major();
  }
}

// The value reaches the key.  Neither keeps the other alive.
TEST_F(LifetimeTest, EphemeronThatReachesItsOwnKeyDies) {
  for (const bool old : {false, true}) {
    Root<Ephemeron<Cell, Cell>> e;
    {
      Root<Cell> key = make<Cell>(1, nullptr);
      e = make_ephemeron<Cell, Cell>(key, make<Cell>(2, key));
      if (old) Minor();
    }
    Major();
    EXPECT_FALSE((key_of<Cell, Cell>(e)));
  }
}

// A chain in the unlucky order: each value is the next one's key.
TEST_F(LifetimeTest, ChainOfEphemerons) {
  for (const bool old : {false, true}) {
    std::vector<Local<Ephemeron<Cell, Cell>>> chain(50);
    Root<Cell> first = make<Cell>(0, nullptr);
    Root<Cell> key = first;
    for (size_t i = chain.size(); i-- > 0;) {
      Root<Cell> value = make<Cell>(static_cast<long>(i), nullptr);
      chain[i] = make_ephemeron<Cell, Cell>(key, value);
      key = value;
    }
    key = nullptr;
    if (old) Minor();
    Major();
    for (const auto& e : chain) ASSERT_TRUE((value_of<Cell, Cell>(e)));
    first = nullptr;
    Major();
    for (const auto& e : chain) ASSERT_FALSE((value_of<Cell, Cell>(e)));
  }
}

double ThreadSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct ChainCell {
  long head;
  Field<Ephemeron<ChainCell, ChainCell>> next;
};

enum class Chain { kForwards, kBackwards, kHidden };

// The seconds of collections of a chain: each value is the key of the next ephemeron, and only the
// first key is rooted.  kHidden: only the value before refers to an ephemeron.
double SecondsOfChain(CollectionKind kind, Chain order, size_t length) {
  HeapOptions options;
  options.nursery_bytes = 32 << 20;
  options.growth_floor_bytes = size_t{1} << 30;
  const auto heap = Heap::Create(options).value();
  const Mutator mutator(*heap);
  using Link = Ephemeron<ChainCell, ChainCell>;
  Root<Array<Link>> links = make_array<Link>(length);
  Root<Array<ChainCell>> keys = make_array<ChainCell>(length + 1);
  for (size_t i = 0; i <= length; ++i) keys->at(i) = make<ChainCell>(static_cast<long>(i), nullptr);
  for (size_t i = 0; i < length; ++i) {
    const size_t k = order == Chain::kForwards ? i : length - 1 - i;
    links->at(k) = make_ephemeron<ChainCell, ChainCell>(keys->at(k), keys->at(k + 1));
  }
  Root<ChainCell> first = keys->at(0);
  Root<Link> link = links->at(0);
  if (kind == CollectionKind::kMajor) heap->CollectFromTop(CollectionKind::kMinor);
  keys = nullptr;
  if (order == Chain::kHidden) {
    for (size_t i = length; i-- > 0;) {
      if (i + 1 < length) value_of<ChainCell, ChainCell>(links->at(i))->next = links->at(i + 1);
    }
    links = nullptr;
  }
  const double begin = ThreadSeconds();
  heap->CollectFromTop(kind);
  const double seconds = ThreadSeconds() - begin;
  size_t alive = 0;
  for (Local<Link> at = link; at && alive < length;) {
    const Local<ChainCell> value = value_of<ChainCell, ChainCell>(at);
    if (!value || value->head != static_cast<long>(alive + 1)) break;
    ++alive;
    if (order == Chain::kHidden) {
      at = value->next;
    } else {
      at = alive < length ? Local<Link>(links->at(alive)) : Local<Link>();
    }
  }
  EXPECT_EQ(alive, length);
  return seconds;
}

// Four times the links take four times as long, with some air; sixteen times if each pass over the
// ephemerons found one of them.
TEST(EphemeronTest, TimeIsLinearInEveryOrder) {
  for (const CollectionKind kind : {CollectionKind::kMinor, CollectionKind::kMajor}) {
    for (const Chain order : {Chain::kForwards, Chain::kBackwards, Chain::kHidden}) {
      double small = 1e9;
      double large = 1e9;
      for (int round = 0; round < 3; ++round) {
        small = std::min(small, SecondsOfChain(kind, order, 8000));
        large = std::min(large, SecondsOfChain(kind, order, 32000));
      }
      EXPECT_LT(large, 9 * small + 0.01) << static_cast<int>(kind) << static_cast<int>(order);
    }
  }
}

TEST_F(LifetimeTest, FinalizersRunOnceInOrderWithTheirObject) {
  std::vector<long> order;
  for (long i = 0; i < 5; ++i) {
    add_finalizer<Cell>(make<Cell>(i, make<Cell>(i * 10, nullptr)), [&order](Handle<Cell> cell) {
      order.push_back(cell->head + cell->tail->head);
    });
  }
  Minor();
  EXPECT_TRUE(order.empty());
  Major();
  EXPECT_EQ(order, (std::vector<long>{0, 11, 22, 33, 44}));
  Major();
  EXPECT_EQ(order.size(), 5u);
}

TEST_F(LifetimeTest, AWeakMapFindsKeysThatMove) {
  constexpr size_t kKeys = 20000;
  Root<Array<Cell>> keys = make_array<Cell>(kKeys);
  Root<WeakMap<Cell, Cell>> map = make_weak_map<Cell, Cell>();
  for (size_t i = 0; i < kKeys; ++i) {
    const long number = static_cast<long>(i);
    keys->at(i) = make<Cell>(number, nullptr);
    map->set(keys->at(i), make<Cell>(number * 2, nullptr));
    if (i % 5000 == 4999) Minor();
  }
  for (size_t i = 0; i < kKeys; i += 2) map->set(keys->at(i), keys->at(kKeys - 1 - i));
  EXPECT_FALSE(map->has(make<Cell>(1, nullptr)));
  EXPECT_FALSE(map->get(nullptr));
  Major();
  ASSERT_EQ(map->size(), kKeys);
  for (size_t i = 0; i < kKeys; ++i) {
    const size_t expected = i % 2 == 0 ? kKeys - 1 - i : i * 2;
    ASSERT_EQ(map->get(keys->at(i))->head, static_cast<long>(expected));
  }
}

TEST_F(LifetimeTest, EntriesOfAWeakMapGoWithTheirKeys) {
  Root<WeakMap<Cell, Cell>> map = make_weak_map<Cell, Cell>();
  Root<Cell> kept = make<Cell>(1, nullptr);
  Root<Cell> dying = make<Cell>(2, nullptr);
  map->set(kept, nullptr);
  map->set(dying, make<Cell>(3, dying));  // a value that refers to its key
  map->set(make<Cell>(4, nullptr), kept);
  EXPECT_EQ(map->size(), 3u);
  Minor();
  EXPECT_EQ(map->size(), 2u);
  Minor();
  Drop(dying);
  Major();
  EXPECT_EQ(map->size(), 1u);
  EXPECT_TRUE(map->has(kept));
  EXPECT_FALSE(map->get(kept));
  EXPECT_EQ(map->keys()->length(), 1u);
  EXPECT_EQ(map->keys()->at(0), Local<Cell>(kept));
}

TEST_F(LifetimeTest, EntriesOfAWeakMapAreErasedAndSetAnew) {
  Root<WeakMap<Cell, Value>> map = make_weak_map<Cell, Value>();
  std::vector<Local<Cell>> keys;
  for (int i = 0; i < 100; ++i) keys.push_back(make<Cell>(i, nullptr));
  EXPECT_FALSE(map->erase(keys[0]));
  for (int round = 0; round < 1000; ++round) {
    for (const Local<Cell>& key : keys) map->set(key, Value::Int(key->head));
    for (const Local<Cell>& key : keys) ASSERT_TRUE(map->erase(key));
    if (round == 500) Minor();
  }
  EXPECT_EQ(map->size(), 0u);
  // What was erased leaves places that are used again, so the table has not grown.
  EXPECT_LT(heap_->LiveByType()[0].bytes, 16384u);
  map->set(keys[7], Value::Int(7));
  EXPECT_EQ(map->get(keys[7]).to_int(), 7);
  map->clear();
  EXPECT_FALSE(map->has(keys[7]));
  EXPECT_EQ(map->keys()->length(), 0u);
}

TEST_F(LifetimeTest, AFinalizerFindsNoEntryOfItsObjectAndMaySetOne) {
  Root<WeakMap<Cell, Cell>> map = make_weak_map<Cell, Cell>();
  Root<Cell> revived;
  bool had_entry = true;
  {
    Root<Cell> cell = make<Cell>(5, nullptr);
    map->set(cell, make<Cell>(6, nullptr));
    add_finalizer<Cell>(cell, [&](Handle<Cell> dead) {
      had_entry = map->has(dead);
      revived = dead;
      map->set(dead, make<Cell>(7, nullptr));
    });
  }
  Major();
  EXPECT_FALSE(had_entry);
  EXPECT_EQ(map->size(), 1u);
  Major();
  EXPECT_EQ(map->get(revived)->head, 7);
}

// A chain of entries, each value the key of the next; then a map that only a value refers to.
TEST_F(LifetimeTest, AWeakMapFollowsChains) {
  Root<WeakMap<Any, Any>> map = make_weak_map<Any, Any>();
  Root<Cell> first = make<Cell>(0, nullptr);
  for (const bool old : {false, true}) {
    Local<Any> key = first;
    for (int i = 1; i <= 50; ++i) {
      const Local<Cell> next = make<Cell>(i, nullptr);
      map->set(key, next);
      key = next;
    }
    const Local<WeakMap<Cell, Cell>> inner = make_weak_map<Cell, Cell>();
    inner->set(first, make<Cell>(99, nullptr));
    map->set(key, inner);
    key = nullptr;
    if (old) Minor();
    Major();
    EXPECT_EQ(map->size(), 51u);
    Local<Any> at = first;
    for (int i = 0; i < 51; ++i) at = map->get(at);
    EXPECT_EQ((at.cast<WeakMap<Cell, Cell>>()->get(first)->head), 99);
  }
  Drop(first);
  Major();
  EXPECT_EQ(map->size(), 0u);
}

TEST_F(LifetimeTest, NullAndNumbersAreNoKeysOfAWeakMap) {
  const Local<WeakMap<Value, Cell>> map = make_weak_map<Value, Cell>();
  EXPECT_FALSE(map->has(Value::Int(3)));
  EXPECT_DEATH(map->set(Value::Int(3), nullptr), "rule.weak");
  EXPECT_DEATH(map->set(nullptr, nullptr), "rule.weak");
}

TEST_F(LifetimeTest, BytesOfACustomBlockAreAdjusted) {
  const auto release = [](void* data) { ++*static_cast<int*>(data); };
  int released = 0;
  for (const bool old : {false, true}) {
    const uint64_t majors = heap_->statistics().major_collections;
    Root<CustomBlock> block = make_custom(&released, 100, release);
    if (old) Minor();
    adjust_custom(block, 50);
    EXPECT_EQ(heap_->statistics().custom_bytes, 50u);
    adjust_custom(block, uint64_t{1} << 30);  // more than the threshold
    EXPECT_GT(heap_->statistics().major_collections, majors);
    EXPECT_EQ(heap_->statistics().custom_bytes, uint64_t{1} << 30);
    block = nullptr;
    Major();
    EXPECT_EQ(heap_->statistics().custom_bytes, 0u);
    EXPECT_EQ(released, old ? 2 : 1);
  }
  Root<CustomBlock> young = make_custom(&released, 100, release);
  adjust_custom(young, 200);
  young = nullptr;
  Minor();
  EXPECT_EQ(heap_->statistics().custom_bytes, 0u);
}

TEST_F(LifetimeTest, FinalizerSeesClearedWeakReferencesAndMayRevive) {
  Global<Cell> revived;
  Root<Cell> cell = make<Cell>(1, nullptr);
  Root<WeakRef<Cell>> weak = make_weak<Cell>(cell);
  bool weak_was_null = false;
  add_finalizer<Cell>(cell, [&](Handle<Cell> dying) {
    weak_was_null = !target_of<Cell>(weak);
    for (int i = 0; i < 10000; ++i) make<Cell>(i, nullptr);
    revived = dying;
  });
  cell = nullptr;
  Major();
  EXPECT_TRUE(weak_was_null);
  EXPECT_EQ(revived.get()->head, 1);
  Major();
  EXPECT_EQ(revived.get()->head, 1);
}

TEST_F(LifetimeTest, ExceptionOfAFinalizerLeavesTheSafepoint) {
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    add_finalizer<Cell>(make<Cell>(i, nullptr), [&runs](Handle<Cell>) {
      if (++runs == 1) throw std::runtime_error("finalizer");
    });
  }
  EXPECT_THROW(Major(), std::runtime_error);
  Safepoint();
  EXPECT_EQ(runs, 3);
}

int g_released = 0;
void Release(void*) { ++g_released; }

TEST_F(LifetimeTest, CustomBlocksAreReleasedOnceYoungOrOld) {
  g_released = 0;
  Root<CustomBlock> kept = make_custom(nullptr, 100, Release);
  make_custom(nullptr, 100, Release);
  Minor();
  EXPECT_EQ(g_released, 1);
  EXPECT_EQ(heap_->statistics().custom_bytes, 100u);
  kept = nullptr;
  Minor();
  EXPECT_EQ(g_released, 1);
  Major();
  EXPECT_EQ(g_released, 2);
  EXPECT_EQ(heap_->statistics().custom_bytes, 0u);
}

TEST_F(LifetimeTest, OutOfHeapBytesDriveCollections) {
  g_released = 0;
  for (int i = 0; i < 100; ++i) make_custom(nullptr, 1 << 20, Release);
  EXPECT_GT(g_released, 80);
}

TEST_F(LifetimeTest, HeapReleasesWhatLivesAtItsEnd) {
  g_released = 0;
  std::thread([] {
    const auto heap = Heap::Create(Options()).value();
    const Mutator mutator(*heap);
    Global<CustomBlock> kept(make_custom(nullptr, 100, Release));
    heap->CollectFromTop(CollectionKind::kMajor);
  }).join();
  EXPECT_EQ(g_released, 1);
}

}  // namespace
}  // namespace allomon::gc

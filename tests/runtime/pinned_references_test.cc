// References of every kind to an object that a word of the stack pins.
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/custom.h"
#include "runtime/heap.h"
#include "runtime/internal/collect/heap_core.h"
#include "runtime/weak.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};
constexpr int kCellBytes = sizeof(Cell);

// An encoded address, which no scan mistakes for an address.
using Hidden = uintptr_t;
template <typename T>
Hidden Hide(const T& reference) {
  return ~reinterpret_cast<uintptr_t>(reference.operator->());
}

// Overwrites the remains of earlier calls below this frame.
__attribute__((noinline)) void ClearStack() {
  volatile char words[8 << 10];
  for (size_t i = 0; i < sizeof(words); ++i) words[i] = 0;
}

__attribute__((noinline)) void Show(volatile uintptr_t* word, Hidden hidden, long offset) {
  *word = ~hidden + static_cast<uintptr_t>(offset);
}

// Calls body() while a word of the stack is the address plus `offset`.
template <typename Body>
__attribute__((noinline)) void WhileOnStack(Hidden hidden, long offset, Body body) {
  volatile uintptr_t word = 0;
  Show(&word, hidden, offset);
  ClearStack();
  body();
  word = 0;
}

HeapOptions Options() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.growth_floor_bytes = 256 << 10;
  options.verify = true;
  return options;
}

class PinnedReferencesTest : public ::testing::Test {
 protected:
  void Collect(char kind) {
    heap_->Collect(kind == 'M' ? CollectionKind::kMajor : CollectionKind::kMinor);
  }
  void ExpectWordsAddUp() {
    const HeapStatistics s = heap_->statistics();
    EXPECT_EQ(s.allocated_words,
              s.promoted_words + s.freed_young_words + s.young_words + s.born_old_words);
    EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words + s.old_words);
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

// --- Which words keep an object.

// Adjacent objects in the nursery, whose addresses are on no stack.
class Row {
 public:
  explicit Row(long length) { Make(length); }
  Hidden at(size_t i) const { return hidden_[i]; }
  bool Stayed(size_t i) const { return Hide(roots_[i]) == hidden_[i]; }
  long CountStayed() const {
    long stayed = 0;
    for (size_t i = 0; i < hidden_.size(); ++i) stayed += Stayed(i);
    return stayed;
  }
  bool IsRight() const {
    for (size_t i = 0; i < hidden_.size(); ++i) {
      if (roots_[i]->head != static_cast<long>(i) || roots_[i]->tail->head != -7) return false;
    }
    return true;
  }

 private:
  __attribute__((noinline)) void Make(long length) {
    const Local<Cell> tail = make<Cell>(-7, nullptr);
    for (long i = 0; i < length; ++i) {
      roots_.emplace_back(make<Cell>(i, tail));
      hidden_.push_back(Hide(roots_.back()));
    }
  }

  std::deque<Root<Cell>> roots_;
  std::vector<Hidden> hidden_;
};

constexpr long kRow = 200;
// Stale words of the compiler's may pin a few other objects.
constexpr long kFewOthers = 20;

TEST_F(PinnedReferencesTest, WordOfEachByteKeepsTheObjectAndTheOneBehindItsEndToo) {
  for (const long offset : {-7, -1, 0, 1, 8, kCellBytes - 1, kCellBytes}) {
    const Row row(kRow);
    WhileOnStack(row.at(100), offset, [&] {
      Collect('m');
      EXPECT_TRUE(row.Stayed(100)) << offset;
      EXPECT_LT(row.CountStayed(), kFewOthers);
      EXPECT_TRUE(row.IsRight());
      Collect('M');
      EXPECT_TRUE(row.Stayed(100)) << offset;
    });
    EXPECT_TRUE(row.IsRight());
  }
}

// The word past the next object's header address refers to that next object.
TEST_F(PinnedReferencesTest, WordThatPassesTheEndKeepsTheNeighbour) {
  const Row row(kRow);
  WhileOnStack(row.at(100), kCellBytes + 1, [&] { Collect('m'); });
  EXPECT_TRUE(row.Stayed(101));
  EXPECT_FALSE(row.Stayed(100) && row.Stayed(99) && row.Stayed(98)) << "nothing has moved";
}

#if defined(__x86_64__)
void CollectMinorOf(Heap* heap) { heap->Collect(CollectionKind::kMinor); }

// Calls CollectMinorOf(heap) while the address is in r14, and nowhere else.
__attribute__((noinline)) void CollectWithRegister(Hidden hidden, Heap* heap) {
  void (*function)(Heap*) = &CollectMinorOf;
  asm volatile(
      "movq %%rsp, %%r13\n"
      "subq $256, %%rsp\n"
      "andq $-16, %%rsp\n"
      "movq %%rsi, %%r14\n"
      "notq %%r14\n"
      "call *%%rax\n"
      "movq %%r13, %%rsp\n"
      "xorl %%r14d, %%r14d\n"
      : "+a"(function), "+S"(hidden), "+D"(heap)
      :
      : "rcx", "rdx", "r8", "r9", "r10", "r11", "r13", "r14", "xmm0", "xmm1", "xmm2", "xmm3",
        "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
        "xmm15", "memory", "cc");
}

TEST_F(PinnedReferencesTest, CalleeSavedRegisterAloneKeepsItsObject) {
  const Row row(kRow);
  ClearStack();
  CollectWithRegister(row.at(100), heap_.get());
  EXPECT_TRUE(row.Stayed(100));
  EXPECT_LT(row.CountStayed(), kFewOthers);
  EXPECT_TRUE(row.IsRight());
}
#endif

// --- References to the object.

int g_released = 0;

// An object, and a reference to it in each place that can have one.
class Holders {
 public:
  explicit Holders(Heap* heap) : heap_(heap) {
    Make();
    heap_->CollectFromTop(CollectionKind::kMinor);  // some holders are old now
    hidden_ = Fill();
  }
  Hidden hidden() const { return hidden_; }

  // Checks that all references agree, and that the object is unchanged.
  void Check(const std::string& when) const {
    const Local<Cell> cell = root_;
    ASSERT_EQ(cell->head, 42) << when;
    ASSERT_EQ(cell->tail->head, 43) << when;
    EXPECT_EQ(old_->tail, cell) << when;
    EXPECT_EQ(young_->tail, cell) << when;
    EXPECT_EQ(large_->at(2999), cell) << when;
    EXPECT_EQ(array_->at(700), cell) << when;
    EXPECT_EQ(target_of<Cell>(weak_), cell) << when;
    EXPECT_EQ((key_of<Cell, Cell>(by_key_)), cell) << when;
    EXPECT_EQ((value_of<Cell, Cell>(by_key_)->head), 44) << when;
    EXPECT_EQ((value_of<Cell, Cell>(by_value_)), cell) << when;
    EXPECT_EQ((key_of<Cell, Cell>(old_by_key_)), cell) << when;
    EXPECT_EQ((value_of<Cell, Cell>(old_by_key_)), cell) << when;
    EXPECT_EQ(global_.get(), cell) << when;
    EXPECT_EQ(stack_.Peek(), cell) << when;
    EXPECT_EQ(vector_[0], cell) << when;
    EXPECT_EQ(identity_hash(cell), hash_) << when;
    EXPECT_EQ(finalized_, 0) << when;
  }
  bool Stayed() const { return Hide(root_) == hidden_; }
  // Stores a younger object into the object, and reads it through all references.
  __attribute__((noinline)) void StoreYounger() {
    root_->tail = make<Cell>(43, make<Cell>(45, nullptr));
    large_->at(1) = root_->tail;
  }
  void CheckYounger() const {
    EXPECT_EQ(large_->at(1), root_->tail);
    EXPECT_EQ(root_->tail->tail->head, 45);
  }

  void Drop() {
    root_ = nullptr;
    old_ = nullptr;
    young_ = nullptr;
    large_ = nullptr;
    array_ = nullptr;
    global_.Reset();
    stack_.Drop(1);
    vector_.clear();
    vector_.shrink_to_fit();
    by_value_ = nullptr;
  }
  void CheckDead() const {
    EXPECT_FALSE(target_of<Cell>(weak_));
    EXPECT_FALSE((key_of<Cell, Cell>(by_key_)));
    EXPECT_FALSE((value_of<Cell, Cell>(by_key_)));
    EXPECT_FALSE((value_of<Cell, Cell>(old_by_key_)));
    EXPECT_EQ(finalized_, 1);
  }

 private:
  using Pair = Ephemeron<Cell, Cell>;
  __attribute__((noinline)) void Make() {
    key_ = make<Cell>(0, nullptr);
    old_ = make<Cell>(1, nullptr);
    large_ = make_array<Cell>(3000);
    old_by_key_ = make_ephemeron<Cell, Cell>(nullptr, nullptr);
  }
  __attribute__((noinline)) Hidden Fill() {
    const Local<Cell> cell = make<Cell>(42, make<Cell>(43, nullptr));
    root_ = cell;
    old_->tail = cell;
    young_ = make<Cell>(2, cell);
    large_->at(2999) = cell;
    array_ = make_array<Cell>(1000);
    array_->at(700) = cell;
    weak_ = make_weak<Cell>(cell);
    by_key_ = make_ephemeron<Cell, Cell>(cell, make<Cell>(44, cell));
    by_value_ = make_ephemeron<Cell, Cell>(key_, cell);
    set_ephemeron<Cell, Cell>(old_by_key_, cell, cell);
    global_ = cell;
    stack_.Push(cell);
    vector_.push_back(cell);
    hash_ = identity_hash(cell);
    add_finalizer<Cell>(cell, [this](Handle<Cell> dying) { finalized_ += dying->head == 42; });
    return Hide(cell);
  }

  Heap* const heap_;
  Root<Cell> key_, root_, old_, young_;
  Root<Array<Cell>> large_, array_;
  Root<WeakRef<Cell>> weak_;
  Root<Pair> by_key_, by_value_, old_by_key_;
  Global<Cell> global_;
  ValueStack<Cell> stack_;
  std::vector<Local<Cell>> vector_;
  uint64_t hash_ = 0;
  int finalized_ = 0;
  Hidden hidden_ = 0;
};

// Minor (m) and major (M) collections: before the bar with a word of the stack, after it without.
class HoldersTest : public PinnedReferencesTest,
                    public ::testing::WithParamInterface<const char*> {};

TEST_P(HoldersTest, AllReferencesAgreeWhereverTheObjectIs) {
  const std::string steps = GetParam();
  const size_t bar = steps.find('|');
  const auto holders = std::make_unique<Holders>(heap_.get());
  const auto run = [&](size_t begin, size_t end, bool stays) {
    for (size_t i = begin; i < end; ++i) {
      Collect(steps[i]);
      holders->Check(steps.substr(0, i + 1));
      if (stays) {
        EXPECT_TRUE(holders->Stayed());
      }
      if (i > begin) holders->CheckYounger();
      holders->StoreYounger();
    }
    ExpectWordsAddUp();
  };
  WhileOnStack(holders->hidden(), 0, [&] { run(0, bar, true); });
  ClearStack();
  run(bar + 1, steps.size(), false);
  heap_->CollectFromTop(CollectionKind::kMajor);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_FALSE(holders->Stayed());
  holders->Check("at last");
  holders->CheckYounger();
  holders->Drop();
  heap_->CollectFromTop(CollectionKind::kMajor);  // its finalizer runs
  heap_->CollectFromTop(CollectionKind::kMajor);
  holders->CheckDead();
  ExpectWordsAddUp();
}

INSTANTIATE_TEST_SUITE_P(Steps, HoldersTest,
                         ::testing::Values("m|m", "m|M", "M|m", "mm|m", "mm|Mm", "mm|mM", "mM|mm",
                                           "Mm|MM", "mmm|mmm", "mmMmm|MmMm", "MMM|mMm"));

// --- Weak objects that stay themselves.

TEST_F(PinnedReferencesTest, EphemeronThatStaysFollowsItsKeyAndItsValue) {
  Root<Cell> key;
  Hidden hidden = 0;
  const auto make_pair = [&]() __attribute__((noinline)) {
    key = make<Cell>(1, nullptr);
    hidden = Hide(make_ephemeron<Cell, Cell>(key, make<Cell>(2, key)));
  };
  make_pair();
  WhileOnStack(hidden, 0, [&] {
    const auto pair = [hidden] {
      return internal::LocalOf<Ephemeron<Cell, Cell>>(reinterpret_cast<internal::Object*>(~hidden));
    };
    for (const char kind : {'m', 'm', 'M', 'm', 'M'}) {
      Collect(kind);
      ASSERT_EQ((key_of<Cell, Cell>(pair())), key);
      ASSERT_EQ((value_of<Cell, Cell>(pair())->head), 2);
      ASSERT_EQ((value_of<Cell, Cell>(pair())->tail), Local<Cell>(key));
      // A young key, of an ephemeron with tenure.
      key = make<Cell>(1, nullptr);
      set_ephemeron<Cell, Cell>(pair(), key, make<Cell>(2, key));
    }
    const Root<Ephemeron<Cell, Cell>> root = pair();
    key = nullptr;
    heap_->CollectFromTop(CollectionKind::kMajor);
    EXPECT_FALSE((key_of<Cell, Cell>(root)));
    EXPECT_FALSE((value_of<Cell, Cell>(root)));
  });
}

// The list of ephemerons with young keys names each ephemeron once, however often it is set.
TEST_F(PinnedReferencesTest, EphemeronThatIsSetOftenIsListedOnce) {
  Root<Cell> key = make<Cell>(1, nullptr);
  const Root<Ephemeron<Cell, Cell>> pair = make_ephemeron<Cell, Cell>(key, nullptr);
  WhileOnStack(Hide(key), 0, [&] {
    for (long i = 0; i < 5000; ++i) {
      set_ephemeron<Cell, Cell>(pair, key, make<Cell>(i, nullptr));
      if (i % 500 == 499) Collect('m');
    }
    EXPECT_EQ((value_of<Cell, Cell>(pair)->head), 4999);
    EXPECT_LE(internal::t_window.mutator->weaks.size(), 10u);
  });
}

TEST_F(PinnedReferencesTest, CustomBlockIsReleasedWhenNoWordKeepsIt) {
  g_released = 0;
  Hidden hidden = 0;
  const auto make_block = [&]() __attribute__((noinline)) {
    hidden = Hide(make_custom(nullptr, 100, [](void*) { ++g_released; }));
  };
  make_block();
  WhileOnStack(hidden, 8, [&] {
    for (const char kind : {'m', 'm', 'M', 'M', 'm'}) Collect(kind);
    EXPECT_EQ(g_released, 0);
  });
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(g_released, 1);
  ExpectWordsAddUp();
}

// --- Words that are no references.

TEST_F(PinnedReferencesTest, WordsAtTheEdgesOfAllSpacesDoNoHarm) {
  Root<Cell> list;
  for (long i = 0; i < 3000; ++i) list = make<Cell>(i, list);
  heap_->CollectFromTop(CollectionKind::kMajor);
  const Hidden old = Hide(list);
  const Hidden large = Hide(make_bytes(300'000));  // dies
  const Hidden young = Hide(make<Cell>(0, nullptr));
  heap_->CollectFromTop(CollectionKind::kMajor);
  const uintptr_t chunk = ~old & ~((uintptr_t{1} << 20) - 1);
  const uintptr_t slice = ~young & ~uintptr_t{0xffff};
  const uintptr_t bases[] = {0,
                             chunk,
                             chunk + (32 << 10),
                             chunk + (1 << 20),
                             ~old,
                             ~large,
                             ~large + 300'000,
                             slice,
                             slice + (64 << 10),
                             ~young,
                             internal::kYoungStart,
                             internal::kYoungStart + internal::kYoungBytes};
  volatile uintptr_t words[400] = {};
  size_t used = 0;
  for (const uintptr_t base : bases) {
    for (const long offset : {-8193, -4096, -9, -8, -7, -1, 0, 1, 7, 8, 9, 17, 4096, 8192, 32768}) {
      words[used++] = base + static_cast<uintptr_t>(offset);
    }
  }
  for (int round = 0; round < 6; ++round) {
    for (long i = 0; i < 3000; ++i) make<Cell>(i, nullptr);
    Collect(round % 2 == 0 ? 'm' : 'M');
    make_bytes(300'000);
    long sum = 0;
    for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
    ASSERT_EQ(sum, 3000L * 2999 / 2);
  }
  EXPECT_EQ(words[0], static_cast<uintptr_t>(-8193));
  ExpectWordsAddUp();
}

// --- Objects of a thread that is gone.

TEST_F(PinnedReferencesTest, ObjectOutlivesTheNurseryOfItsThread) {
  Root<Cell> kept = make<Cell>(1, nullptr);
  heap_->CollectFromTop(CollectionKind::kMinor);
  std::atomic<Hidden> hidden{0};
  std::atomic<bool> seen{false};
  std::thread thread([&] {
    const Mutator mutator(*heap_);
    const auto store = [&]() __attribute__((noinline)) {
      kept->tail = make<Cell>(2, make<Cell>(3, nullptr));
      hidden = Hide(kept->tail);
    };
    store();
    const NativeRegion native;
    while (!seen) std::this_thread::yield();
  });
  while (hidden == 0) Safepoint();
  WhileOnStack(hidden, 0, [&] {
    seen = true;
    {
      const NativeRegion native;
      thread.join();
    }
    for (const char kind : {'m', 'M', 'm'}) {
      EXPECT_EQ(Hide(kept->tail), hidden);
      EXPECT_EQ(kept->tail->head, 2);
      EXPECT_EQ(kept->tail->tail->head, 3);
      kept->tail->tail = make<Cell>(3, nullptr);
      Collect(kind);
    }
  });
  heap_->CollectFromTop(CollectionKind::kMajor);
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_NE(Hide(kept->tail), hidden);
  EXPECT_EQ(kept->tail->head, 2);
  EXPECT_EQ(kept->tail->tail->head, 3);
  ExpectWordsAddUp();
}

// The ephemerons of an ended thread are updated for keys and values that stay in other nurseries.
TEST_F(PinnedReferencesTest, EphemeronsOutliveTheThreadThatMadeThem) {
  Root<Cell> key, value;
  const Root<Array<Ephemeron<Cell, Cell>>> made = make_array<Ephemeron<Cell, Cell>>(2);
  const auto make_pair = [&]() __attribute__((noinline)) {
    key = make<Cell>(1, nullptr);
    value = make<Cell>(2, key);
  };
  make_pair();
  const Hidden hidden_key = Hide(key);
  WhileOnStack(hidden_key, 0, [&] {
    WhileOnStack(Hide(value), 0, [&] {
      const NativeRegion native;
      std::thread([&] {
        const Mutator mutator(*heap_);
        made->at(0) = make_ephemeron<Cell, Cell>(key, value);
        made->at(1) = make_ephemeron<Cell, Cell>(value, key);
      }).join();
    });
  });
  EXPECT_EQ(Hide(key), hidden_key) << "has not stayed";
  heap_->CollectFromTop(CollectionKind::kMinor);
  EXPECT_NE(Hide(key), hidden_key) << "has not moved";
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ((key_of<Cell, Cell>(made->at(0))), key);
    EXPECT_EQ((value_of<Cell, Cell>(made->at(0))), value);
    EXPECT_EQ((key_of<Cell, Cell>(made->at(1))), value);
    EXPECT_EQ((value_of<Cell, Cell>(made->at(1))), key);
    heap_->CollectFromTop(CollectionKind::kMajor);
  }
}

}  // namespace
}  // namespace allomon::gc

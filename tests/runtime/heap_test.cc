// Objects, roots, fields and collections on one thread.
#include "runtime/heap.h"

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace allomon::gc {
namespace {

struct Cell {
  long head;
  Field<Cell> tail;
};

struct Tree {
  Field<Tree> left;
  Field<Tree> right;
};

struct Leaf {};

struct Inner {
  int number;
  Field<Cell> cell;
};
struct Outer {
  char tag;
  Inner inner;
  double real;
  Field<Tree> tree;
};

class Based {
 public:
  long header[2];
};
struct Wide : Based {
  Field<Cell> cells[70];
};

}  // namespace

template <>
struct ReferencesOf<Wide> {
  static constexpr size_t kOffsetsBytes[] = {16, 16 + 69 * 8};
};

namespace {

static_assert(internal::PointerMap(internal::kReferences<Cell>) == 0b10);
static_assert(internal::PointerMap(internal::kReferences<Tree>) == 0b11);
static_assert(internal::PointerMap(internal::kReferences<Leaf>) == 0);
// The words are: tag, inner {number, cell}, real, tree.
static_assert(internal::PointerMap(internal::kReferences<Outer>) == 0b10100);

class HeapTest : public ::testing::Test {
 protected:
  static HeapOptions Options() {
    HeapOptions options;
    options.nursery_bytes = 64 << 10;
    options.growth_floor_bytes = 256 << 10;
    options.verify = true;
    return options;
  }

  std::unique_ptr<Heap> heap_ = Heap::Create(Options()).value();
  Mutator mutator_{*heap_};
};

Local<Cell> MakeList(long length) {
  Local<Cell> list;
  for (long i = 0; i < length; ++i) list = make<Cell>(i, list);
  return list;
}

long Sum(Handle<Cell> list) {
  long sum = 0;
  for (Local<Cell> cell = list; cell; cell = cell->tail) sum += cell->head;
  return sum;
}

Local<Tree> MakeTree(int depth) {
  if (depth == 0) return make<Tree>(nullptr, nullptr);
  return make<Tree>(MakeTree(depth - 1), MakeTree(depth - 1));
}

long Count(Handle<Tree> tree) { return !tree ? 0 : 1 + Count(tree->left) + Count(tree->right); }

TEST_F(HeapTest, ListSurvivesManyCollections) {
  const Local<Cell> list = MakeList(20000);
  EXPECT_EQ(Sum(list), 20000L * 19999 / 2);
  EXPECT_GT(heap_->statistics().minor_collections, 5u);
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(Sum(list), 20000L * 19999 / 2);
}

TEST_F(HeapTest, TemporariesInOneExpressionAreRooted) {
  const Local<Tree> tree = MakeTree(14);
  EXPECT_EQ(Count(tree), (1 << 15) - 1);
}

TEST_F(HeapTest, GarbageIsFreed) {
  for (int i = 0; i < 30; ++i) MakeTree(12);
  heap_->CollectFromTop(CollectionKind::kMajor);
  const HeapStatistics statistics = heap_->statistics();
  EXPECT_EQ(statistics.old_words, 0u);
  EXPECT_EQ(statistics.young_words, 0u);
  EXPECT_EQ(statistics.allocated_words, 30u * 8191 * 3);
  EXPECT_EQ(statistics.freed_old_words + statistics.freed_young_words, statistics.allocated_words);
}

TEST_F(HeapTest, OldObjectKeepsAYoungOne) {
  Local<Cell> old = make<Cell>(1, nullptr);
  heap_->Collect(CollectionKind::kMinor);
  old->tail = make<Cell>(2, nullptr);
  heap_->Collect(CollectionKind::kMinor);
  EXPECT_EQ(old->tail->head, 2);
}

TEST_F(HeapTest, MemberOfTheObjectItselfMayBeAnArgument) {
  Local<Cell> list = MakeList(10);
  for (int i = 0; i < 20000; ++i) list = make<Cell>(list->head, list->tail);
  EXPECT_EQ(Sum(list), 45);
}

TEST_F(HeapTest, NestedAggregatesAreTraced) {
  Local<Outer> outer = make<Outer>();
  outer->tag = 'x';
  outer->inner.number = 7;
  outer->real = 2.5;
  outer->inner.cell = make<Cell>(5, nullptr);
  outer->tree = MakeTree(3);
  heap_->Collect(CollectionKind::kMajor);
  MakeList(10000);
  EXPECT_EQ(outer->tag, 'x');
  EXPECT_EQ(outer->inner.number, 7);
  EXPECT_EQ(outer->inner.cell->head, 5);
  EXPECT_EQ(Count(outer->tree), 15);
  EXPECT_EQ(outer->real, 2.5);
}

TEST_F(HeapTest, ListedReferencesOfAWideTypeAreTraced) {
  Local<Wide> wide = make<Wide>();
  wide->cells[0] = make<Cell>(1, nullptr);
  wide->cells[69] = make<Cell>(2, nullptr);
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(wide->cells[0]->head + wide->cells[69]->head, 3);
}

TEST_F(HeapTest, ArraysOfEverySize) {
  for (const size_t length : {0, 1, 2, 15, 100, 1000, 1022, 1023, 1024, 5000, 200000}) {
    Local<Array<Cell>> array = make_array<Cell>(length);
    ASSERT_EQ(array->length(), length);
    for (size_t i = 0; i < length; i += 7) array->at(i) = make<Cell>(static_cast<long>(i), nullptr);
    heap_->Collect(CollectionKind::kMajor);
    for (size_t i = 0; i < length; ++i) {
      if (i % 7 != 0) {
        ASSERT_FALSE(array->at(i));
      } else {
        ASSERT_EQ(array->at(i)->head, static_cast<long>(i));
      }
    }
  }
}

TEST_F(HeapTest, BytesKeepTheirText) {
  std::vector<Local<Bytes>> kept;
  for (size_t i = 0; i < 3000; ++i)
    kept.push_back(make_bytes(std::string(i * 7 % 300, 'a' + i % 26)));
  kept.push_back(make_bytes(std::string(100000, 'z')));
  heap_->Collect(CollectionKind::kMajor);
  for (size_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(kept[i]->view(), std::string(i * 7 % 300, 'a' + i % 26));
  }
  EXPECT_EQ(kept.back()->length(), 100000u);
  EXPECT_EQ(kept.back()->view()[99999], 'z');
}

TEST_F(HeapTest, LocalsDieInAnyOrder) {
  std::vector<Local<Cell>> locals;
  for (long i = 0; i < 20000; ++i) locals.push_back(make<Cell>(i, nullptr));
  for (size_t i = 0; i < locals.size(); i += 2) locals[i] = nullptr;
  // A queue: the oldest element is dropped while newer ones live.
  std::vector<Local<Cell>> queue(100);
  for (long i = 0; i < 100000; ++i) {
    queue.erase(queue.begin());
    queue.emplace_back(make<Cell>(i, nullptr));
  }
  heap_->Collect(CollectionKind::kMinor);
  EXPECT_EQ(queue[99]->head, 99999);
  EXPECT_EQ(queue[0]->head, 99900);
  EXPECT_EQ(locals[19999]->head, 19999);
}

TEST_F(HeapTest, RootsAreArgumentsInEveryForm) {
  Root<Cell> root = make<Cell>(1, nullptr);
  const Root<Cell>& constant = root;
  Local<Cell> list;
  for (int i = 0; i < 20000; ++i) {  // many, so that the slow path runs too
    list = make<Cell>(2, root);
    list = make<Cell>(2, constant);
    list = make<Cell>(2, std::move(root));
  }
  EXPECT_EQ(Sum(list), 3);
  EXPECT_EQ(root->head, 1);
}

TEST_F(HeapTest, EmplaceReadsItsArgumentsLast) {
  Local<Cell> list;
  for (long i = 0; i < 20000; ++i) list.emplace(i, list);
  for (int i = 0; i < 20000; ++i) list.emplace(list->head, list->tail);
  EXPECT_EQ(Sum(list), 20000L * 19999 / 2);
  Local<Tree> tree;
  tree.emplace(MakeTree(3), MakeTree(3));
  EXPECT_EQ(Count(tree), 31);
  Local<Cell> moved = std::move(list);
  list.emplace(1, moved->tail);
  EXPECT_EQ(list->tail, moved->tail);
}

TEST_F(HeapTest, GlobalsOutliveScopes) {
  Global<Cell> global;
  EXPECT_FALSE(global.get());
  global = MakeList(100);
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(Sum(global.get()), 4950);
  global.Reset();
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, 0u);
}

TEST_F(HeapTest, ValueStackIsARoot) {
  ValueStack<Cell, 100> stack;
  for (long i = 0; i < 100; ++i) stack.Push(make<Cell>(i, nullptr));
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(stack.Peek(1)->head, 98);
  for (long i = 99; i >= 0; --i) ASSERT_EQ(stack.Pop()->head, i);
}

TEST_F(HeapTest, ExceptionsUnwindRoots) {
  struct Thrower {
    static void Recurse(int depth) {
      const Root<Cell> root = make<Cell>(depth, nullptr);
      if (depth == 0) throw depth;
      Recurse(depth - 1);
    }
  };
  EXPECT_THROW(Thrower::Recurse(100), int);
  EXPECT_EQ(internal::t_window.first_root, nullptr);
}

TEST_F(HeapTest, CyclesAreCollected) {
  for (int i = 0; i < 1000; ++i) {
    Local<Cell> a = make<Cell>(1, nullptr);
    Local<Cell> b = make<Cell>(2, a);
    a->tail = b;
  }
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_EQ(heap_->statistics().old_words, 0u);
}

TEST_F(HeapTest, CountersBalance) {
  const Root<Tree> kept = MakeTree(10);
  const Root<Array<Cell>> big = make_array<Cell>(3000);
  for (int i = 0; i < 10; ++i) MakeTree(10);
  heap_->CollectFromTop(CollectionKind::kMajor);
  MakeTree(5);
  const HeapStatistics s = heap_->statistics();
  EXPECT_EQ(s.allocated_words,
            s.promoted_words + s.freed_young_words + s.young_words + s.born_old_words);
  EXPECT_EQ(s.promoted_words + s.born_old_words, s.freed_old_words + s.old_words);
  EXPECT_EQ(s.old_words, 2047u * 3 + 3002);
}

// --- Many elements at once.

TEST_F(HeapTest, ArraysAreFilledCopiedAndSliced) {
  Root<Array<Cell>> old = make_array<Cell>(2000);  // born old
  for (const bool young : {false, true}) {
    Root<Cell> value = make<Cell>(7, nullptr);
    if (!young) heap_->CollectFromTop(CollectionKind::kMinor);
    fill_array<Cell>(old, value);
    heap_->CollectFromTop(CollectionKind::kMinor);
    for (size_t i = 0; i < 2000; ++i) ASSERT_EQ(old->at(i), Local<Cell>(value));
  }
  for (size_t i = 0; i < 2000; ++i) old->at(i) = make<Cell>(static_cast<long>(i), nullptr);
  copy_array<Cell>(old, 1, old, 0, 1999);  // to behind
  heap_->CollectFromTop(CollectionKind::kMinor);
  copy_array<Cell>(old, 500, old, 1000, 1000);  // to before
  for (size_t i = 0; i < 2000; ++i) {
    const size_t expected = i == 0 ? 0 : i < 500 || i >= 1500 ? i - 1 : i + 499;
    ASSERT_EQ(old->at(i)->head, static_cast<long>(expected)) << i;
  }
  Root<Array<Cell>> slice = slice_array<Cell>(old, 3, 13);
  EXPECT_EQ(slice->length(), 10u);
  EXPECT_EQ(slice->at(9), old->at(12));
  fill_array<Cell>(slice, 2, 4, nullptr);
  EXPECT_FALSE(slice->at(2) || slice->at(3));
  EXPECT_TRUE(slice->at(1) && slice->at(4));
  Root<Array<Value>> numbers = make_array<Value>(5000, Value::Int(3));
  EXPECT_EQ(numbers->at(4999).to_int(), 3);
  EXPECT_DEATH(fill_array<Cell>(slice, 5, 11, nullptr), "rule.bounds");
  EXPECT_DEATH(fill_array<Cell>(slice, 5, 4, nullptr), "rule.bounds");
  EXPECT_DEATH(copy_array<Cell>(slice, 1, old, 0, 10), "rule.bounds");
  EXPECT_DEATH(slice_array<Cell>(slice, 11, 11), "rule.bounds");
}

TEST_F(HeapTest, AGrowableArrayGrows) {
  Root<GrowableArray<Cell>> all = make_growable<Cell>();
  EXPECT_EQ(all->to_array()->length(), 0u);
  for (long i = 0; i < 5000; ++i) {
    all->push(make<Cell>(i, nullptr));
    if (i % 700 == 0) heap_->CollectFromTop(CollectionKind::kMinor);
  }
  for (size_t i = 0; i < 5000; ++i) ASSERT_EQ(all->at(i)->head, static_cast<long>(i));
  EXPECT_EQ(all->pop()->head, 4999);
  EXPECT_EQ(all->to_array()->at(4998)->head, 4998);
  all->resize(10);
  all->resize(20);
  EXPECT_EQ(all->at(9)->head, 9);
  EXPECT_FALSE(all->at(10));
  heap_->CollectFromTop(CollectionKind::kMajor);
  EXPECT_LT(heap_->statistics().old_words, 20000u);  // what was dropped is dead
  all->resize(0);
  EXPECT_DEATH(all->pop(), "rule.bounds");
}

TEST_F(HeapTest, AStringBuilderGrows) {
  Root<StringBuilder> text = make_string_builder();
  EXPECT_EQ(text->view(), "");
  std::string expected;
  for (int i = 0; i < 2000; ++i) {
    text->append(std::to_string(i));
    text->push(';');
    expected += std::to_string(i) + ";";
    if (i == 100) {
      text->append(text->view());  // its own bytes, which are left when it grows
      expected += expected;
    }
  }
  heap_->CollectFromTop(CollectionKind::kMinor);
  const Local<Bytes> bytes = text->to_bytes();
  EXPECT_EQ(bytes->view(), expected);
  const std::string_view view = bytes;  // converts
  EXPECT_EQ(view, expected);
  const Local<Bytes> none;
  EXPECT_EQ(std::string(none), "");
  text->clear();
  EXPECT_EQ(text->size(), 0u);
}

// More members than reflection sees.
struct ManyNumbers {
  double numbers[20];
  long more;
};

}  // namespace

template <>
struct ReferencesOf<ManyNumbers> : NoReferences {};

namespace {

TEST_F(HeapTest, AStructOfManyNumbers) {
  const Local<ManyNumbers> leaf = make<ManyNumbers>();
  leaf->numbers[19] = 3;
  heap_->Collect(CollectionKind::kMajor);
  EXPECT_EQ(leaf->numbers[19] + static_cast<double>(leaf->more), 3);
}

}  // namespace
}  // namespace allomon::gc

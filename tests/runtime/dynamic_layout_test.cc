// Layouts that a dynamic language needs: shapes that are defined at run time, structs that end with
// an array, arrays of numbers, pointers that are not traced.
#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/weak.h"

namespace allomon::gc {
namespace {

struct Function {
  std::string name;
};
struct Closure {
  long uses;
  Field<Value> self;
  Untraced<const Function*> function;
  Trailing<Value> captured;
};
struct Curve {
  Field<Curve> next;
  Trailing<double> points;
};
struct Plain {
  Trailing<Plain> parts;
};

struct Animal {
  static constexpr bool kIsBase = true;
  long legs;
  Field<Value> name;
};
struct Dog : Animal {
  using Extends = Animal;
  Field<Dog> other;
};
struct Rows {
  char tag[3];
  Field<Rows> next[2];
  long numbers[2][2];
};

}  // namespace

template <>
struct ReferencesOf<Dog> {
  static constexpr size_t kOffsetsBytes[] = {8, 16};
};

namespace {

static_assert(internal::kReferences<Closure>.count == 1);
static_assert(internal::TypeInfoOf<Closure>::kInfo.length_word == 3);
static_assert(internal::TypeInfoOf<Plain>::kInfo.length_word == 0);

HeapOptions Strict() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.stress_every = 1;
  options.verify = true;
  return options;
}

class LayoutTest : public ::testing::TestWithParam<bool> {
 protected:
  const std::unique_ptr<Heap> heap_ = Heap::Create(GetParam() ? Strict() : HeapOptions()).value();
  const Mutator mutator_{*heap_};

  void CollectBoth() {
    heap_->Collect(CollectionKind::kMinor);
    heap_->Collect(CollectionKind::kMajor);
  }
  // Finds a type by name.
  LiveType Live(const std::string& name) {
    for (const LiveType& type : heap_->LiveByType()) {
      if (name == type.name) return type;
    }
    return {};
  }
};
INSTANTIATE_TEST_SUITE_P(, LayoutTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Strict" : "Usual"; });

// --- Trailing arrays.

TEST_P(LayoutTest, ATrailingArrayIsTracedBehindTheMembers) {
  const Function function = {"f"};
  const Local<Closure> closure = make_trailing<Closure>(100, 5L, nullptr, &function);
  closure->self = closure;
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(closure->captured.at(i).is_null());
    closure->captured.at(i) = i % 3 == 0 ? Local<Value>(Value::Int(i)) : make_bytes("text");
  }
  CollectBoth();
  EXPECT_EQ(Live("Bytes").objects, 66u);
  // The words of the header, of the four members and of the elements.
  EXPECT_EQ(Live("Closure").bytes, 8u * (1 + 4 + 100));
  EXPECT_EQ(closure->uses, 5);
  EXPECT_EQ(closure->function->name, "f");
  EXPECT_EQ(closure->self, closure);
  EXPECT_EQ(closure->captured.length(), 100u);
  EXPECT_EQ(closure->captured.at(99).to_int(), 99);
  EXPECT_EQ(closure->captured.at(98).cast<Bytes>()->view(), "text");
}

TEST_P(LayoutTest, AnEmptyTrailingArrayHasNoElement) {
  const Local<Plain> plain = make_trailing<Plain>(0);
  const Local<Curve> curve = make_trailing<Curve>(0, nullptr);
  CollectBoth();
  EXPECT_EQ(plain->parts.length(), 0u);
  EXPECT_EQ(curve->points.length(), 0u);
}

// The sum of its words and the members' would wrap to a few words: the next object would overlap
// its elements.
TEST_P(LayoutTest, ALengthThatWrapsIsBadAlloc) {
  for (const uint64_t less : {0, 1, 2, 3, 4, 5}) {
    EXPECT_THROW(make_trailing<Plain>(~uint64_t{0} - less), std::bad_alloc);
    EXPECT_THROW(make_trailing<Closure>(~uint64_t{0} - less, 5L, nullptr, nullptr), std::bad_alloc);
  }
}

// The object is born old, so the barrier must see the stores to its members.
TEST_P(LayoutTest, ALargeOneKeepsTheYoungObjectsItWasMadeFrom) {
  const Local<Closure> closure = make_trailing<Closure>(5000, 5L, make_bytes("young"), nullptr);
  closure->captured.at(4999) = make_bytes("last");
  CollectBoth();
  EXPECT_EQ(closure->self.cast<Bytes>()->view(), "young");
  EXPECT_EQ(closure->captured.at(4999).cast<Bytes>()->view(), "last");
}

TEST_P(LayoutTest, TrailingNumbersMayLookLikeAnything) {
  Local<Curve> curve;
  for (int i = 0; i < 50; ++i) {
    curve = make_trailing<Curve>(7, curve);
    for (size_t j = 0; j < 7; ++j) curve->points.at(j) = 1.0 / (1 + static_cast<double>(j));
    // An address in the nursery, which the collector would follow if it were a reference.
    memcpy(&curve->points.at(3), &internal::t_window.cursor, 8);
  }
  CollectBoth();
  int n = 0;
  for (Local<Curve> c = curve; c; c = c->next, ++n) EXPECT_EQ(c->points.at(6), 1.0 / 7);
  EXPECT_EQ(n, 50);
}

// --- Members.

TEST_P(LayoutTest, ACppBaseClassIsABaseType) {
  const Local<Dog> dog = make<Dog>(4L, make_bytes("Rex"), nullptr);
  dog->other = make<Dog>(3L, make_bytes("Bo"), dog);
  const Local<Animal> animal = dog->other;
  CollectBoth();
  EXPECT_EQ(animal->legs, 3);
  EXPECT_EQ(animal->name.cast<Bytes>()->view(), "Bo");
  EXPECT_TRUE(animal.is<Dog>() && Local<Value>(animal).is<Animal>());
  EXPECT_EQ(animal.cast<Dog>()->other, dog);
  EXPECT_FALSE(Local<Animal>(make<Animal>(2L, nullptr)).is<Dog>());
}

TEST_P(LayoutTest, AnArrayIsAMember) {
  const Local<Rows> rows = make<Rows>();
  rows->next[1] = make<Rows>();
  rows->next[1]->next[0] = rows;
  rows->numbers[1][1] = 7;
  CollectBoth();
  EXPECT_EQ(rows->next[1]->next[0], rows);
  EXPECT_FALSE(rows->next[0]);
  EXPECT_EQ(rows->numbers[1][1], 7);
}

// --- Numbers.

TEST_P(LayoutTest, NumbersHaveTheLengthTheyWereMadeWith) {
  const Local<Numbers<float>> floats = make_numbers<float>(3);
  const Local<Numbers<int64_t>> ints = make_numbers<int64_t>(3000);  // a large object
  const Local<Numbers<uint8_t>> bytes = make_numbers<uint8_t>(0);
  floats->at(2) = 1.5F;
  ints->at(2999) = -1;
  CollectBoth();
  EXPECT_EQ(floats->length(), 3u);
  EXPECT_EQ(floats->at(2), 1.5F);
  EXPECT_EQ(floats->at(0), 0);
  EXPECT_EQ(ints->length(), 3000u);
  EXPECT_EQ(ints->at(2999), -1);
  EXPECT_EQ(bytes->length(), 0u);
  const Local<Value> value = floats;
  EXPECT_TRUE(value.is<Numbers<float>>());
  EXPECT_FALSE(value.is<Numbers<double>>() || value.is<Bytes>());
  EXPECT_THROW(make_numbers<double>(~size_t{0} / 8), std::bad_alloc);
}

// --- Memory that the caller must write before it is read.

// The lengths end inside a word, at the end of a word, and in a large object.
constexpr size_t kLengths[] = {0, 1, 8, 151, 8184, 100'001};

TEST_P(LayoutTest, BytesForOverwriteKeepWhatIsWritten) {
  for (const size_t length : kLengths) {
    const Local<Bytes> bytes = make_bytes_for_overwrite(length);
    const Local<Numbers<char>> numbers = make_numbers_for_overwrite<char>(length);
    ASSERT_EQ(bytes->length(), length);
    ASSERT_EQ(numbers->length(), length);
    std::fill_n(bytes->data(), length, 'b');
    std::fill_n(numbers->data(), length, 'n');
    CollectBoth();
    EXPECT_EQ(bytes->view(), std::string(length, 'b'));
    EXPECT_EQ(std::string(numbers->data(), length), std::string(length, 'n'));
  }
  EXPECT_THROW(make_numbers_for_overwrite<double>(~size_t{0} / 8), std::bad_alloc);
}

// The memory of dead objects is full of their bytes.
TEST_P(LayoutTest, BytesAreZeroWhereOthersWere) {
  for (const size_t length : kLengths) {
    for (int i = 0; i < 300; ++i) {
      const Local<Bytes> dirty = make_bytes_for_overwrite(length);
      std::fill_n(dirty->data(), length, 'x');
    }
    CollectBoth();
    for (int i = 0; i < 300; ++i) {
      ASSERT_EQ(make_bytes(length)->view(), std::string(length, '\0'));
      ASSERT_EQ(make_bytes(std::string(length, 'y'))->view(), std::string(length, 'y'));
    }
  }
}

#ifndef NDEBUG
// The slow path always clears memory, and in a strict heap every path is the slow one.
TEST_P(LayoutTest, ReaderOfBytesThatNobodyWroteSeesThatInADebugBuild) {
  bool has_marked = false;
  for (int i = 0; i < 10; ++i) {
    const std::string unwritten(make_bytes_for_overwrite(16)->view());
    const bool is_marked = unwritten == std::string(16, '\xdb');
    EXPECT_TRUE(is_marked || unwritten == std::string(16, '\0'));
    has_marked |= is_marked;
  }
  EXPECT_EQ(has_marked, !GetParam());
}
#endif

// --- Shapes.

TEST_P(LayoutTest, AShapeSaysWhichWordsAreTraced) {
  const Shape& shape =
      Shape::Define("Mixed", {Shape::kWord, Shape::kValue, Shape::kWord, Shape::kValue});
  const Local<Shaped> object = make_shaped(shape);
  EXPECT_EQ(object->word(2), 0u);
  EXPECT_TRUE(object->value(3).is_null());
  object->word(0) = internal::t_window.cursor;  // resembles a reference but is none
  object->value(1) = make_bytes("one");
  object->value(3) = Value::Double(2.5);
  CollectBoth();
  EXPECT_EQ(Live("Mixed").objects, 1u);
  EXPECT_EQ(Live("Mixed").bytes, 8u * 5);
  EXPECT_EQ(object->value(1).cast<Bytes>()->view(), "one");
  EXPECT_EQ(object->value(3).to_double(), 2.5);
  EXPECT_EQ(&object->shape(), &shape);
}

TEST_P(LayoutTest, AShapeOfMoreThan64WordsIsTracedToo) {
  std::vector<Shape::Word> words(200, Shape::kWord);
  for (size_t i = 0; i < words.size(); i += 3) words[i] = Shape::kValue;
  const Local<Shaped> object = make_shaped(Shape::Define("Wide", words));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == Shape::kValue) {
      object->value(i) = make_bytes(std::to_string(i));
    } else {
      object->word(i) = i;
    }
  }
  CollectBoth();
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == Shape::kValue) {
      ASSERT_EQ(object->value(i).cast<Bytes>()->view(), std::to_string(i));
    } else {
      ASSERT_EQ(object->word(i), i);
    }
  }
}

TEST_P(LayoutTest, AnEmptyShapeMakesObjectsOfTheirOwn) {
  const Shape& shape = Shape::Define("Empty", {});
  const Local<Value> a = make_shaped(shape);
  const Local<Value> b = make_shaped(shape);
  CollectBoth();
  EXPECT_NE(a, b);
  EXPECT_TRUE(a.is_shaped(shape) && b.is<Shaped>());
}

TEST_P(LayoutTest, ShapesOfOneNameAndLayoutAreOne) {
  const std::vector<Shape::Word> words = {Shape::kValue};
  const Shape& shape = Shape::Define("Same", words);
  EXPECT_EQ(&shape, &Shape::Define("Same", words));
  EXPECT_NE(&shape, &Shape::Define("Other", words));
  EXPECT_NE(&shape, &Shape::Define("Same", {Shape::kWord}));
  const Local<Value> value = make_shaped(shape);
  EXPECT_TRUE(value.is_shaped(shape));
  EXPECT_FALSE(value.is_shaped(Shape::Define("Other", words)));
  EXPECT_FALSE(Local<Value>().is_shaped(shape));
  EXPECT_FALSE(value.is<Closure>());
  EXPECT_STREQ(value.type_name(), "Same");
  EXPECT_FALSE(Local<Value>(make_bytes(1)).is<Shaped>());
}

TEST_P(LayoutTest, ThreadsDefineTheSameShape) {
  const Shape* seen[4] = {};
  std::vector<std::thread> threads;
  for (const Shape*& shape : seen) {
    threads.emplace_back([&shape] { shape = &Shape::Define("Shared", {Shape::kValue}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Shape* shape : seen) EXPECT_EQ(shape, seen[0]);
}

TEST_P(LayoutTest, MisuseIsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Local<Shaped> object = make_shaped(Shape::Define("Mixed2", {Shape::kWord, Shape::kValue}));
  EXPECT_DEATH(object->value(0), "rule.shape");
  EXPECT_DEATH(object->word(1), "rule.shape");
  EXPECT_DEATH(object->value(2), "rule.shape");
  EXPECT_DEATH(Shape::Define("TooWide", std::vector<Shape::Word>(1024)), "rule.shape");
  const Local<Closure> closure = make_trailing<Closure>(1, 5L, nullptr, nullptr);
  EXPECT_DEATH(closure->captured.at(1), "rule.bounds");
  const Local<Numbers<float>> floats = make_numbers<float>(3);
  EXPECT_DEATH(floats->at(3), "rule.bounds");
}

}  // namespace
}  // namespace allomon::gc

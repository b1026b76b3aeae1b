// Values: numbers that take no memory, references that know their type, and the collector's
// guarantees for them.
#include "runtime/value.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/heap.h"
#include "runtime/weak.h"

namespace allomon::gc {
namespace {

struct Pair {
  Field<Value> first;
  Field<Value> rest;
};
struct Other {
  long number;
  Field<Value> value;
};

struct Figure {
  static constexpr bool kIsBase = true;
  double area;
};
struct Polygon {
  static constexpr bool kIsBase = true;
  using Extends = Figure;
  Figure figure;
  Field<Array<Value>> corners;
};
struct Square {
  using Extends = Polygon;
  Polygon polygon;
  double side;
};

double FromBits(uint64_t bits) {
  double number = 0;
  memcpy(&number, &bits, sizeof(number));
  return number;
}
uint64_t BitsOf(double number) {
  uint64_t bits = 0;
  memcpy(&bits, &number, sizeof(bits));
  return bits;
}

// Moves every object at every allocation, and checks the heap.
HeapOptions Strict() {
  HeapOptions options;
  options.nursery_bytes = 64 << 10;
  options.stress_every = 1;
  options.verify = true;
  return options;
}

class ValueTest : public ::testing::TestWithParam<bool> {
 protected:
  const std::unique_ptr<Heap> heap_ = Heap::Create(GetParam() ? Strict() : HeapOptions()).value();
  const Mutator mutator_{*heap_};

  uint64_t AllocatedWords() { return heap_->statistics().allocated_words; }
  // Collects without scanning the stack.
  void CollectBothFromTop() {
    heap_->CollectFromTop(CollectionKind::kMinor);
    heap_->CollectFromTop(CollectionKind::kMajor);
  }
  void CollectBoth() {
    heap_->Collect(CollectionKind::kMinor);
    heap_->Collect(CollectionKind::kMajor);
  }
};
INSTANTIATE_TEST_SUITE_P(, ValueTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Strict" : "Usual"; });

TEST_P(ValueTest, NumbersTakeNoMemory) {
  const Local<Pair> pair = make<Pair>(nullptr, nullptr);
  const uint64_t before = AllocatedWords();
  for (int64_t i = 0; i < 100; ++i) {
    Local<Value> value = Value::Int(i);
    value = Value::Double(0.1 * static_cast<double>(i));
    pair->first = value;
    pair->rest = Value::Bool(true);
  }
  EXPECT_EQ(AllocatedWords(), before);
}

TEST_P(ValueTest, IntegersComeBackUpToTheirEnds) {
  for (const int64_t n : {int64_t{0}, int64_t{-1}, int64_t{1}, internal::kLeastInt,
                          internal::kMostInt, int64_t{1} << 47, -(int64_t{1} << 48)}) {
    const Local<Value> value = Value::Int(n);
    EXPECT_TRUE(value.is_int() && value.is_number());
    EXPECT_FALSE(value.is_double() || value.is_reference() || value.is_bool() || value.is_null());
    EXPECT_EQ(value.to_int(), n);
    EXPECT_EQ(value, Value::Number(n));
  }
}

TEST_P(ValueTest, AnIntegerBeyondTheEndsIsADoubleNotAnotherInteger) {
  for (const int64_t n :
       {internal::kMostInt + 1, internal::kLeastInt - 1, std::numeric_limits<int64_t>::max(),
        std::numeric_limits<int64_t>::min(), int64_t{1} << 51, int64_t{1} << 52}) {
    EXPECT_FALSE(Value::FitsInt(n)) << n;
    const Local<Value> value = Value::Number(n);
    EXPECT_EQ(value.to_double(), static_cast<double>(n));
  }
  EXPECT_FALSE(Value::FitsInt(std::numeric_limits<uint64_t>::max()));
  EXPECT_FALSE(Value::FitsInt(uint64_t{1} << 50));
  EXPECT_TRUE(Value::FitsInt(uint64_t{(1ull << 50) - 1}));
}

TEST_P(ValueTest, EveryDoubleComesBackAndNoneLooksLikeAnObject) {
  std::mt19937_64 random(1);
  std::vector<double> numbers = {0.0,
                                 -0.0,
                                 1.5,
                                 -1.5,
                                 HUGE_VAL,
                                 -HUGE_VAL,
                                 std::numeric_limits<double>::denorm_min(),
                                 -std::numeric_limits<double>::max()};
  for (int i = 0; i < 100000; ++i) numbers.push_back(FromBits(random()));
  for (const double number : numbers) {
    const Local<Value> value = Value::Double(number);
    ASSERT_TRUE(value.is_double() && value.is_number());
    ASSERT_FALSE(value.is_int() || value.is_reference());
    if (number != number) {
      ASSERT_TRUE(std::isnan(value.to_double()));
    } else {
      ASSERT_EQ(BitsOf(value.to_double()), BitsOf(number));
    }
    ASSERT_TRUE(internal::IsImmediateWord(value.word()));
  }
}

// A NaN with a payload could pose as an integer or a reference.
TEST_P(ValueTest, AllNansAreOne) {
  const Local<Value> nan = Value::Double(std::nan(""));
  for (const uint64_t bits : {~uint64_t{0}, uint64_t{0xfff8} << 48, uint64_t{0x7ff0000000000001},
                              uint64_t{0xfff0000000000001}}) {
    EXPECT_EQ(nan, Value::Double(FromBits(bits)));
  }
}

TEST_P(ValueTest, FalseAndZeroAreNotNull) {
  const Local<Value> null;
  EXPECT_TRUE(null.is_null() && !null.is_truthy());
  const Local<Value> no = Value::Bool(false);
  EXPECT_TRUE(no.is_bool() && !no.is_truthy() && !no.is_null() && !no.to_bool());
  const Local<Value> zero = Value::Int(0);
  EXPECT_TRUE(zero.is_truthy() && !zero.is_null());
  EXPECT_NE(zero, no);
  EXPECT_NE(zero, Value::Double(0));
  EXPECT_EQ(null, Value::Null());
}

TEST_P(ValueTest, ConstantsAreNothingElse) {
  for (unsigned i = 0; i < Value::kConstants; ++i) {
    const Local<Value> value = Value::Constant(i);
    EXPECT_TRUE(value.is_constant() && value.is_truthy());
    EXPECT_EQ(value.to_constant(), i);
    EXPECT_FALSE(value.is_reference() || value.is_bool() || value.is_number() || value.is_null());
    EXPECT_STREQ(value.type_name(), "constant");
  }
}

TEST_P(ValueTest, AnObjectKnowsItsType) {
  const Local<Value> pair = make<Pair>(Value::Int(1), nullptr);
  const Local<Value> other = make<Other>(2L, pair);
  const Local<Value> bytes = make_bytes("text");
  const Local<Value> array = make_array<Value>(2000);  // a large object
  CollectBoth();
  EXPECT_TRUE(pair.is<Pair>());
  EXPECT_FALSE(pair.is<Other>() || pair.is<Bytes>() || pair.is<Array<Value>>());
  EXPECT_TRUE(bytes.is<Bytes>() && array.is<Array<Value>>() && array.is<Any>());
  EXPECT_EQ(bytes.cast<Bytes>()->view(), "text");
  EXPECT_EQ(other.cast<Other>()->value.cast<Pair>()->first.to_int(), 1);
  EXPECT_FALSE(pair.as<Other>());
  EXPECT_EQ(other.peek<Other>()->number, 2);
  EXPECT_STREQ(other.type_name(), "Other");
}

TEST_P(ValueTest, NullAndNumbersAreOfNoType) {
  for (const Immediate immediate :
       {Value::Null(), Value::Int(4096), Value::Double(1), Value::Bool(true)}) {
    const Local<Value> value = immediate;
    EXPECT_FALSE(value.is<Pair>() || value.is<Any>() || value.is<Figure>());
    EXPECT_FALSE(value.as<Any>());
  }
  EXPECT_FALSE(Local<Any>().is<Pair>());
}

TEST_P(ValueTest, AWiderTypeLeadsBackToTheNarrowOne) {
  const Local<Square> square = make<Square>(9.0, nullptr, 3.0);
  const Local<Figure> figure = square;
  Local<Polygon> polygon = square;
  const Local<Figure> same = polygon;
  EXPECT_EQ(figure, same);
  polygon->corners = make_array<Value>(3);
  CollectBoth();
  EXPECT_EQ(figure->area, 9.0);
  EXPECT_TRUE(figure.is<Square>() && figure.is<Polygon>() && figure.is<Figure>());
  EXPECT_EQ(figure.cast<Polygon>()->corners->length(), 3u);
  EXPECT_EQ(figure.cast<Square>()->side, 3.0);
  const Local<Figure> plain = make<Figure>(1.0);
  EXPECT_FALSE(plain.is<Square>() || plain.is<Polygon>());
  EXPECT_TRUE(Local<Value>(polygon).is<Figure>());
}

TEST_P(ValueTest, AnOldObjectKeepsTheYoungOneItPointsToThroughAValue) {
  const Local<Pair> old = make<Pair>(Value::Int(1), Value::Double(2.5));
  CollectBoth();
  old->first = make<Other>(7L, nullptr);
  old->rest = Value::Int(5);
  old->rest = make<Other>(8L, nullptr);
  CollectBoth();
  EXPECT_EQ(old->first.cast<Other>()->number, 7);
  EXPECT_EQ(old->rest.cast<Other>()->number, 8);
}

// The slot is already in the log when the number is stored.
TEST_P(ValueTest, ANumberMayReplaceAYoungObjectInAnOldOne) {
  const Local<Pair> old = make<Pair>(nullptr, nullptr);
  CollectBoth();
  for (int i = 0; i < 1000; ++i) {
    old->first = make<Other>(7L, nullptr);
    old->first = i % 2 == 0 ? Value::Int(i) : Value::Double(i);
    old->rest = old->first;
  }
  CollectBoth();
  EXPECT_EQ(old->rest.to_number(), 999);
}

TEST_P(ValueTest, ArraysAndGlobalsHoldThem) {
  Global<Value> global;
  {
    const Local<Array<Value>> array = make_array<Value>(100);
    global = array;
    for (size_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(array->at(i).is_null());
      array->at(i) = i % 2 == 0 ? Local<Value>(Value::Int(i)) : make<Pair>(Value::Int(i), nullptr);
    }
  }
  CollectBoth();
  const Local<Array<Value>> array = global.get().cast<Array<Value>>();
  for (size_t i = 0; i < 100; ++i) {
    const Local<Value> value = array->at(i);
    const int64_t n = value.is_int() ? value.to_int() : value.cast<Pair>()->first.to_int();
    ASSERT_EQ(static_cast<size_t>(n), i);
  }
  global = Value::Int(3);
  EXPECT_EQ(global.get().to_int(), 3);
}

TEST_P(ValueTest, AWeakReferenceIsToAnyObject) {
  Root<Value> value = make<Pair>(Value::Int(1), nullptr);
  const Root<WeakRef<Any>> weak = make_weak<Any>(value.as<Any>());
  const Root<Ephemeron<Any, Value>> pair =
      make_ephemeron<Any, Value>(value.as<Any>(), Value::Int(17));
  CollectBothFromTop();
  EXPECT_EQ(target_of<Any>(weak), value.as<Any>());
  EXPECT_EQ((value_of<Any, Value>(pair).to_int()), 17);
  value = nullptr;
  CollectBothFromTop();
  EXPECT_FALSE(target_of<Any>(weak));
  EXPECT_TRUE((value_of<Any, Value>(pair).is_null()));
}

TEST_P(ValueTest, AFinalizerIsOfAnyObject) {
  std::string seen;
  {
    const Local<Value> value = make<Other>(1L, nullptr);
    add_finalizer<Value>(value, [&seen](Handle<Value> dead) { seen = dead.type_name(); });
  }
  CollectBothFromTop();
  EXPECT_EQ(seen, "Other");
}

// --- Value stacks.

TEST_P(ValueTest, AStackGrowsUnderTheProgram) {
  ValueStack<Value, 4> stack;
  for (int64_t i = 0; i < 1000; ++i) {
    stack.Push(Value::Int(i));
    stack.Push(make<Other>(static_cast<long>(i), stack.Top()));
    stack.Push(stack[0]);
  }
  CollectBoth();
  EXPECT_EQ(stack.size(), 3000u);
  EXPECT_EQ(stack[3 * 700 + 1].peek<Other>()->value.to_int(), 700);
  stack[0] = make<Other>(5L, nullptr);
  stack[1] = stack[0];
  CollectBoth();
  EXPECT_EQ(stack[1].cast<Other>()->number, 5);
  stack.Resize(10);
  EXPECT_EQ(stack.Pop().to_int(), 3);
  stack.Drop(7);
  EXPECT_EQ(stack.Pop(), stack.Peek());
}

TEST_P(ValueTest, AFullStackThrowsAndKeepsItsValues) {
  ValueStack<Value, 4> stack(10);
  for (int64_t i = 0; i < 10; ++i) stack.Push(Value::Int(i));
  try {
    stack.Push(Value::Int(10));
    FAIL() << "pushed beyond the limit";
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("10 values"), std::string::npos) << error.what();
  }
  EXPECT_EQ(stack.size(), 10u);
  EXPECT_EQ(stack.Pop().to_int(), 9);
  ValueStack<Pair, 4> small(2);  // fewer than lie inside
  small.Push(nullptr);
  small.Push(nullptr);
  EXPECT_THROW(small.Push(nullptr), std::length_error);
}

TEST_P(ValueTest, DroppedValuesAreDead) {
  ValueStack<Value> stack;
  stack.Push(make<Other>(1L, nullptr));
  const Root<WeakRef<Any>> weak = make_weak<Any>(stack.Top().as<Any>());
  stack.Drop();
  CollectBothFromTop();
  EXPECT_FALSE(target_of<Any>(weak));
}

// --- Against a model: random stores into a graph, compared with vectors.

TEST_P(ValueTest, RandomStoresAgreeWithAModel) {
  constexpr size_t kObjects = 40;
  // An entry below kObjects is an object's number, otherwise a number's.
  std::vector<std::vector<int64_t>> model(kObjects, std::vector<int64_t>(3, kObjects));
  const Local<Array<Value>> objects = make_array<Value>(kObjects);
  const auto fill = [&](size_t i) {
    const Local<Array<Value>> fresh = make_array<Value>(3);
    for (size_t j = 0; j < 3; ++j) fresh->at(j) = Value::Int(kObjects);
    objects->at(i) = fresh;
    model[i].assign(3, kObjects);
  };
  for (size_t i = 0; i < kObjects; ++i) fill(i);
  std::mt19937_64 random(7);
  const int steps = GetParam() ? 3000 : 100000;
  for (int step = 0; step < steps; ++step) {
    const size_t i = random() % kObjects;
    const size_t j = random() % 3;
    const Local<Array<Value>> object = objects->at(i).cast<Array<Value>>();
    if (random() % 2 == 0) {
      const size_t to = random() % kObjects;
      // Only to an object that was not replaced: the model knows objects by their places.
      object->at(j) = objects->at(to);
      model[i][j] = static_cast<int64_t>(to);
    } else {
      model[i][j] = static_cast<int64_t>(kObjects + random() % 1000);
      object->at(j) = Value::Number(model[i][j]);
    }
    if (random() % 4 == 0) make<Other>(1L, object);  // garbage
    if (random() % 997 == 0) CollectBoth();
  }
  for (size_t i = 0; i < kObjects; ++i) {
    for (size_t j = 0; j < 3; ++j) {
      const Local<Value> value = objects->at(i).cast<Array<Value>>()->at(j);
      if (model[i][j] < static_cast<int64_t>(kObjects)) {
        ASSERT_EQ(value, objects->at(static_cast<size_t>(model[i][j])));
      } else {
        ASSERT_EQ(value.to_int(), model[i][j]);
      }
    }
  }
}

TEST_P(ValueTest, ThreadsPassThemOn) {
  Global<Value> list;
  list = Value::Null();
  std::mutex mutex;
  const auto run = [&](int64_t from) {
    for (int64_t i = from; i < from + (GetParam() ? 50 : 2000); ++i) {
      const Local<Pair> pair = make<Pair>(Value::Int(i), nullptr);
      const NoAllocation
          none;  // no safepoint here, so no thread parks while it holds or awaits the lock
      const std::lock_guard<std::mutex> hold(mutex);
      pair->rest = list.get();
      list = pair;
    }
  };
  std::thread other([&] {
    const Mutator inner(*heap_);
    run(1000000);
  });
  run(0);
  {
    const NativeRegion native;
    other.join();
  }
  CollectBoth();
  int64_t count = 0;
  for (Local<Value> at = list.get(); at.is<Pair>(); at = at.cast<Pair>()->rest) ++count;
  EXPECT_EQ(count, GetParam() ? 100 : 4000);
}

// --- Misuse is named.

TEST_P(ValueTest, MisuseIsNamed) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const Local<Value> pair = make<Pair>(nullptr, nullptr);
  const Local<Value> number = Value::Int(1);
  EXPECT_DEATH(pair.cast<Other>(), "rule.cast: Pair is no Other");
  EXPECT_DEATH(number.cast<Pair>(), "rule.cast: int is no Pair");
  EXPECT_DEATH(pair.to_int(), "rule.cast: Pair is no int");
  EXPECT_DEATH(number.to_double(), "rule.cast: int is no double");
  EXPECT_DEATH(Local<Value>().to_bool(), "rule.cast: null is no bool");
  EXPECT_DEATH(Value::Int(int64_t{1} << 50), "rule.value.int");
  EXPECT_DEATH(Value::Constant(Value::kConstants), "rule.value.constant");
  EXPECT_DEATH(add_finalizer<Value>(number, [](Handle<Value>) {}), "rule.finalizer");
  EXPECT_DEATH((make_ephemeron<Value, Value>(number, pair)), "rule.weak");
  ValueStack<Value> stack;
  EXPECT_DEATH(stack.Pop(), "rule.value_stack");
  EXPECT_DEATH(stack[0], "rule.value_stack");
  EXPECT_DEATH(stack.Drop(), "rule.value_stack");
}

}  // namespace
}  // namespace allomon::gc

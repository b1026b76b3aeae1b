// Values of a dynamic language: a word that is null, a boolean, an integer, a double, a constant of
// the program, or a reference to a managed object of any type.  Only objects are allocated.
//
//   struct Pair {
//     gc::Field<gc::Value> first;
//     gc::Field<gc::Value> rest;
//   };
//   gc::Local<gc::Value> v = gc::Value::Int(3);
//   v = gc::make<Pair>(v, nullptr);
//   if (v.is<Pair>()) v = v.cast<Pair>()->first;
//   if (v.is_int()) printf("%ld\n", v.to_int());
//
// Value stands where the type of an object stands: Local<Value>, Field<Value>, Array<Value>,
// Global<Value>, ValueStack<Value>, Trailing<Value>, Ephemeron<Any, Value>.  There are no objects
// of type Value.  A reference to an object converts to Value.  is(), as() and cast() convert back;
// they compare the type in the object's header.  Any is a reference to an object of any type, or
// null: a Value without numbers, which weak references need.
//
// Integers have 51 bits, doubles all of theirs.  Two Values are equal (==) if they are the same
// object, or numbers of one kind and the same bits: 1 is not 1.0, 0.0 is not -0.0, a NaN is itself.
//
// A type that others extend declares this, and the others name it:
//
//   struct Shape {
//     static constexpr bool kIsBase = true;
//     double area;
//   };
//   struct Circle {
//     using Extends = Shape;
//     Shape shape;                       // the first member; or a C++ base class with ReferencesOf
//     double radius;
//   };
//
// Then a Local<Circle> converts to Local<Shape>, is<Shape>() holds for both, and cast<Circle>()
// converts back.  Cost of is(): a load of the header and a comparison; for a base type, one more
// load for each level between.
#ifndef ALLOMON_RUNTIME_VALUE_H_
#define ALLOMON_RUNTIME_VALUE_H_

#include <type_traits>

#include "runtime/internal/object/check.h"
#include "runtime/internal/object/value_word.h"

namespace allomon::gc {

// A Value that is no reference: it needs no root.  Converts to Local<Value> and Field<Value>.
class Immediate {
 public:
  constexpr explicit Immediate(uintptr_t word) : word_(word) {}
  constexpr uintptr_t word() const { return word_; }
  friend constexpr bool operator==(Immediate a, Immediate b) { return a.word_ == b.word_; }
  friend constexpr bool operator!=(Immediate a, Immediate b) { return a.word_ != b.word_; }

 private:
  uintptr_t word_;
};

class Value {
 public:
  Value() = delete;

  static constexpr Immediate Null() { return Immediate(0); }

  // Takes only a bool, not a type that converts to bool.
  template <typename B, typename = std::enable_if_t<std::is_same_v<B, bool>>>
  static constexpr Immediate Bool(B truth) {
    return Immediate(truth ? internal::kTrueWord : internal::kFalseWord);
  }

  // Takes integers only.  Aborts if the number needs more than 51 bits: ask FitsInt() first, or
  // take Number().
  template <typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static constexpr Immediate Int(N number) {
    static_assert(!std::is_same_v<N, bool>, "a boolean is Value::Bool()");
    ALLOMON_GC_CHECK(FitsInt(number), "rule.value.int: an integer of more than 51 bits");
    return Immediate(internal::kIntZero + static_cast<uintptr_t>(number));
  }
  template <typename N, typename = std::enable_if_t<std::is_integral_v<N>>>
  static constexpr bool FitsInt(N number) {
    if constexpr (std::is_unsigned_v<N>) {
      return number <= static_cast<uint64_t>(internal::kMostInt);
    } else {
      return internal::kIntZero + static_cast<uintptr_t>(number) >= internal::kFirstInt;
    }
  }

  static Immediate Double(double number) { return Immediate(internal::WordOfDouble(number)); }

  // Makes a double from a number; an integer that does not fit becomes the nearest double.
  template <typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
  static constexpr Immediate Number(N number) {
    if constexpr (std::is_integral_v<N>) {
      if (FitsInt(number)) return Int(number);
    }
    return Double(static_cast<double>(number));
  }

  // Makes a constant whose meaning the program defines, such as undefined or end of file.  Aborts
  // unless `number` is less than kConstants.
  static constexpr unsigned kConstants = internal::kMostConstants;
  static constexpr Immediate Constant(unsigned number) {
    ALLOMON_GC_CHECK(number < kConstants, "rule.value.constant: there are fewer constants");
    return Immediate(internal::kFirstConstantWord + number * uintptr_t{8});
  }
};

// The type name that stands for an object of any type.
class Any {
 public:
  Any() = delete;
};

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_VALUE_H_

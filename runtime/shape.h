// Objects whose layout is known only when the program runs: the instances of a class that a script
// defines, the frames of a compiled function.
//
//   const gc::Shape& point = gc::Shape::Define("Point", {gc::Shape::kValue, gc::Shape::kWord});
//   gc::Local<gc::Shaped> p = gc::make_shaped(point);
//   p->value(0) = gc::Value::Int(3);
//   p->word(1) = 17;
//   if (v.is_shaped(point)) ...                    // one comparison: for inline caches
//
// The shape is the type that the object's header names: snapshots, LiveByType() and trackers show
// the objects under the shape's name.
#ifndef ALLOMON_RUNTIME_SHAPE_H_
#define ALLOMON_RUNTIME_SHAPE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/make.h"

namespace allomon::gc {

class Shape : private internal::TypeInfo {
 public:
  // The kind of a word of an object: a Value, which may be a reference, or eight bytes whose
  // meaning the program defines.
  enum Word : uint8_t { kValue, kWord };
  static constexpr size_t kMostWords = internal::kMaxYoungBytes / internal::kWordBytes;

  // Returns the shape with this name and these words; equal arguments give the same shape.  Shapes
  // are never freed, so their number should depend on the program's text, not on its data.  Any
  // thread, attached or not.  Aborts for more than kMostWords.  Throws std::bad_alloc.
  static const Shape& Define(std::string_view name, const std::vector<Word>& words);

  const char* name() const { return TypeInfo::name; }
  size_t size() const { return n_words_; }
  bool is_value(size_t i) const { return i < n_words_ && kinds_[i] == kValue; }

 private:
  friend class Shaped;
  friend Local<Shaped> make_shaped(const Shape& shape);
  template <typename U, bool kMayBeNumber>
  friend bool internal::IsA(internal::Object* object);
  explicit Shape(std::string_view name, const std::vector<Word>& words);

  size_t n_words_;
  const Word* kinds_;
};

// An object of any shape.
class Shaped {
 public:
  const Shape& shape() const {
    return static_cast<const Shape&>(
        internal::TypeOf(reinterpret_cast<const uintptr_t*>(this)[-1]));
  }

  // Abort if word `i` is not a Value (for value()) or not a plain word (for word()).  The result is
  // valid as long as a Local refers to the object.
  Field<Value>& value(size_t i) {
    ALLOMON_GC_CHECK(shape().is_value(i), "rule.shape: no such Value");
    return unchecked_value(i);
  }
  uint64_t& word(size_t i) {
    ALLOMON_GC_CHECK(i < shape().size() && !shape().is_value(i), "rule.shape: no such word");
    return reinterpret_cast<uint64_t*>(this)[i];
  }
  // The unchecked access after the program has compared the shape.
  Field<Value>& unchecked_value(size_t i) { return reinterpret_cast<Field<Value>*>(this)[i]; }
};

namespace internal {

template <>
struct TypeInfoOf<Shaped> {
  alignas(8) static constexpr TypeInfo kInfo = {"Shaped", 0, nullptr, 0, 1, Kind::kShaped};
};

}  // namespace internal

// Makes an object of nulls and zeros.  A shape of up to 1,023 words is born young.
inline Local<Shaped> make_shaped(const Shape& shape) {
  const internal::TypeInfo& info = shape;
  return internal::LocalOf<Shaped>(
      internal::MakeSized(reinterpret_cast<uintptr_t>(&info), 0, info.size_words - 1));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_SHAPE_H_

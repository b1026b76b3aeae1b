// A struct that ends with an array whose length is known when the object is made.
//
//   struct Closure {
//     gc::Untraced<const Function*> function;
//     gc::Trailing<gc::Value> captured;
//   };
//   gc::Local<Closure> closure = gc::make_trailing<Closure>(3, function);
//   closure->captured.at(0) = gc::Value::Int(1);
//
// This is one object; a struct and an Array would be two.
#ifndef ALLOMON_RUNTIME_TRAILING_H_
#define ALLOMON_RUNTIME_TRAILING_H_

#include <cstdint>
#include <new>
#include <type_traits>

#include "runtime/internal/object/check.h"
#include "runtime/make.h"
#include "runtime/numbers.h"

namespace allomon::gc {
namespace internal {
struct TrailingSize {
  uint64_t size;  // elements, or bytes of numbers
};
}  // namespace internal

// The last member of a struct.  Trailing<T> holds references to T; Trailing<double> and the like
// hold numbers.
template <typename T>
class Trailing {
  static constexpr bool kOfNumbers = std::is_arithmetic_v<T>;
  using Element = std::conditional_t<kOfNumbers, T, Field<T>>;

 public:
  Trailing(internal::TrailingSize size) noexcept : size_(size.size) {}  // NOLINT: of make_trailing
  Trailing(const Trailing&) = delete;
  Trailing& operator=(const Trailing&) = delete;

  size_t length() const { return kOfNumbers ? size_ / sizeof(T) : size_; }

  // Aborts if `i` is out of range.  Valid as long as a Local refers to the object.
  Element& at(size_t i) {
    ALLOMON_GC_CHECK(i < length(), "rule.bounds: array index out of range");
    return reinterpret_cast<Element*>(this + 1)[i];
  }

 private:
  friend struct internal::Braces;
  Trailing() = default;  // make_trailing() makes the struct: it is no variable

  uint64_t size_ = 0;
};

namespace internal {

// Whether the array holds numbers, whose size is stored in bytes.  Otherwise it holds references,
// whose number is stored.
template <typename T>
constexpr bool kTrailsNumbers = std::is_arithmetic_v<typename TrailingOf<T>::Type>;

template <typename T, typename... Args>
Object* MakeTrailing(size_t length, SlowArgumentOf<Args>... args) {
  static_assert(Braces::IsNoexcept<T, ForMemberOf<Args>..., TrailingSize>(),
                "the members of a managed object must be initialised without throwing, and "
                "so without allocating: make their values first, then the object");
  constexpr size_t kFixedWords = sizeof(T) / kWordBytes;
  uint64_t size = length;
  uint64_t words = length;
  if constexpr (kTrailsNumbers<T>) {
    size = BytesOfNumbers<typename TrailingOf<T>::Type>(length);
    words = BytesToWords(size);
  } else if (length > kMostWords) {
    throw std::bad_alloc();  // the sum below must not wrap
  }
  Object* const object = MakeSized(HeaderFor<T>(), 0, kFixedWords - 1 + words);
  Braces::Construct<T>(object, ForMember(args)..., TrailingSize{size});
  if (!IsYoung(object)) RememberReferences<T>(object);
  return object;
}

}  // namespace internal

// Makes T{args..., the array}.  Each member other than the array has an argument.  The array has
// `length` nulls or zeros.
template <typename T, typename... Args>
inline Local<T> make_trailing(size_t length, Args&&... args) {
  static_assert(internal::EndsWithTrailing<T>(), "the last member of T is a Trailing");
  return internal::LocalOf<T>(
      internal::MakeTrailing<T, Args...>(length, std::forward<Args>(args)...));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_TRAILING_H_

// Arrays of numbers, which the collector copies and does not look into.
#ifndef ALLOMON_RUNTIME_NUMBERS_H_
#define ALLOMON_RUNTIME_NUMBERS_H_

#include <cstdint>
#include <new>
#include <type_traits>

#include "runtime/internal/object/check.h"
#include "runtime/make.h"

namespace allomon::gc {

// An array made by make_numbers<N>(length) (zeros) or by make_numbers_for_overwrite<N>(length).
template <typename N>
class Numbers {
  static_assert(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>,
                "Numbers<N> has integers or floating-point numbers; bits are Bytes");

 public:
  size_t length() const { return size_bytes_ / sizeof(N); }

  // Aborts if `i` is out of range.  Valid as long as a Local refers to the numbers.
  N& at(size_t i) {
    ALLOMON_GC_CHECK(i < length(), "rule.bounds: array index out of range");
    return data()[i];
  }
  // Valid as long as a Local refers to the numbers.
  N* data() { return reinterpret_cast<N*>(this + 1); }

 private:
  uint64_t size_bytes_;
};

namespace internal {

template <typename N>
struct TypeInfoOf<Numbers<N>> {
  alignas(8) static constexpr TypeInfo kInfo = {NameOf<Numbers<N>>(), 0, nullptr, 0, 0,
                                                Kind::kBytes};
};

// Returns the size of `length` numbers.  Throws std::bad_alloc for more than can be addressed.
template <typename N>
uint64_t BytesOfNumbers(size_t length) {
  if (length > internal::kMostWords / sizeof(N)) throw std::bad_alloc();
  return length * sizeof(N);
}

}  // namespace internal

// Makes `length` zeros.
template <typename N>
inline Local<Numbers<N>> make_numbers(size_t length) {
  const uint64_t bytes = internal::BytesOfNumbers<N>(length);
  return internal::LocalOf<Numbers<N>>(
      internal::MakeSized(internal::HeaderFor<Numbers<N>>(), bytes, internal::BytesToWords(bytes)));
}

// Makes `length` numbers that the caller must write before it reads them: until then they are old
// contents of the memory, or zeros.
template <typename N>
inline Local<Numbers<N>> make_numbers_for_overwrite(size_t length) {
  const uint64_t bytes = internal::BytesOfNumbers<N>(length);
  return internal::LocalOf<Numbers<N>>(internal::MakeSized<internal::LeaveWords>(
      internal::HeaderFor<Numbers<N>>(), bytes, internal::BytesToWords(bytes)));
}

}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_NUMBERS_H_

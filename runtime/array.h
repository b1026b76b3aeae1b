// Arrays of references and strings of bytes.
#ifndef ALLOMON_RUNTIME_ARRAY_H_
#define ALLOMON_RUNTIME_ARRAY_H_

#include <cstdint>
#include <string_view>

#include "runtime/handle.h"
#include "runtime/internal/object/check.h"

namespace allomon::gc {

// An array of references, null at first; made by make_array<T>(length).  Up to 1,023 are born
// young.
template <typename T>
class Array {
 public:
  size_t length() const { return length_; }

  // Aborts if `i` is out of range.  The Field is valid as long as a Local refers to the array.
  Field<T>& at(size_t i) {
    ALLOMON_GC_CHECK(i < length_, "rule.bounds: array index out of range");
    return reinterpret_cast<Field<T>*>(this + 1)[i];
  }

 private:
  uint64_t length_;
};

// An array of bytes, made by make_bytes() (zeros) or by make_bytes_for_overwrite().
class Bytes {
 public:
  size_t length() const { return length_; }

  // Valid as long as a Local refers to the bytes.
  char* data() { return reinterpret_cast<char*>(this + 1); }
  std::string_view view() const { return {reinterpret_cast<const char*>(this + 1), length_}; }

 private:
  uint64_t length_;
};

namespace internal {

template <typename T>
struct TypeInfoOf<Array<T>> {
  alignas(8) static constexpr TypeInfo kInfo = {NameOf<Array<T>>(), 0, nullptr, 0, 0, Kind::kArray};
};

template <>
struct TypeInfoOf<Bytes> {
  alignas(8) static constexpr TypeInfo kInfo = {"Bytes", 0, nullptr, 0, 0, Kind::kBytes};
};

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_ARRAY_H_

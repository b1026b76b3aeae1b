// Managed types: plain structs whose references are Field<T>.
//
//   struct Cell {
//     long head;
//     gc::Field<Cell> tail;
//   };
//
// Such an aggregate needs nothing more: the compiler finds its references.  A type that
// reflection cannot take apart (base classes, arrays, more than 16 members) lists them:
//
//   template <>
//   struct allomon::gc::ReferencesOf<Node> {
//     static constexpr size_t kOffsetsBytes[] = {offsetof(Node, left), offsetof(Node, right)};
//   };
//
// A reference that is left out of such a list dangles after the next collection.  Managed
// objects are moved by copying their words and are never destroyed, so they must be
// trivially destructible and must not point into themselves.
#ifndef ALLOMON_RUNTIME_TYPE_H_
#define ALLOMON_RUNTIME_TYPE_H_

#include <string_view>

#include "runtime/internal/layout.h"

namespace allomon::gc {

// Specialise it for types that reflection cannot take apart.
template <typename T>
struct ReferencesOf {};

namespace internal {

template <typename T, typename = void>
struct ListsReferences : std::false_type {};
template <typename T>
struct ListsReferences<T, std::void_t<decltype(ReferencesOf<T>::kOffsetsBytes)>> : std::true_type {
};

template <typename T>
constexpr ReferenceList ReferencesIn() {
  static_assert(std::is_trivially_destructible_v<T>,
                "a managed object is never destroyed: it must not own anything");
  static_assert(alignof(T) <= kWordBytes, "managed objects are 8-aligned");
  if constexpr (ListsReferences<T>::value) {
    ReferenceList list;
    for (const size_t offset_bytes : ReferencesOf<T>::kOffsetsBytes) list.Add(offset_bytes);
    return list;
  } else {
    static_assert(SawAll<T>(),
                  "reflection does not see all of this type (a base class, a bit-field or an "
                  "array?): specialise ReferencesOf<T>");
    return FindReferences<T>();
  }
}

template <typename T>
inline constexpr ReferenceList kReferences = ReferencesIn<T>();

constexpr uint64_t PointerMap(const ReferenceList& list) {
  uint64_t map = 0;
  for (uint32_t i = 0; i < list.count; ++i) map |= uint64_t{1} << list.offsets[i];
  return map;
}

// A payload has at least one word, for the collector's link.
template <typename T>
inline constexpr uint32_t kPayloadWords = (sizeof(T) + kWordBytes - 1) / kWordBytes;

template <typename T>
constexpr const char* NameOf() {
  return __PRETTY_FUNCTION__;
}

template <typename T>
constexpr TypeInfo DescribeFixed() {
  constexpr const ReferenceList& list = kReferences<T>;
  constexpr uint32_t words = kPayloadWords<T>;
  if constexpr (words <= 64) {
    return {NameOf<T>(), PointerMap(list), nullptr, 0, words, Kind::kFixed};
  } else {
    return {NameOf<T>(), 0, list.offsets.data(), list.count, words, Kind::kFixed};
  }
}

// The TypeInfo that headers point to.  Other kinds of objects specialise it.
template <typename T>
struct TypeInfoOf {
  alignas(8) static constexpr TypeInfo kInfo = DescribeFixed<T>();
};

template <typename T>
inline uintptr_t HeaderFor() {
  return reinterpret_cast<uintptr_t>(&TypeInfoOf<T>::kInfo);
}

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_TYPE_H_

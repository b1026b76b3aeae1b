// The offsets of the members of an aggregate, and which members are references; computed by the
// compiler.  The computed size is compared with sizeof.  A type with members that reflection cannot
// see (base classes, bit-fields) is therefore refused.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_LAYOUT_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_LAYOUT_H_

#include <array>
#include <type_traits>

#include "runtime/internal/object/object.h"
#include "runtime/internal/object/reflect.h"

namespace allomon::gc {

template <typename T>
class Field;
template <typename T>
class Local;
template <typename T>
class Root;
template <typename T>
class Global;
template <typename Pointer>
class Untraced;
template <typename T>
class Trailing;

namespace internal {

template <typename T>
struct IsUntraced : std::false_type {};
template <typename Pointer>
struct IsUntraced<Untraced<Pointer>> : std::true_type {};

template <typename M>
struct IsTrailing : std::false_type {};
template <typename T>
struct IsTrailing<Trailing<T>> : std::true_type {
  using Type = T;
};

template <typename T>
struct IsField : std::false_type {};
template <typename T>
struct IsField<Field<T>> : std::true_type {};

template <typename T>
struct IsRootHolder : std::false_type {};
template <typename T>
struct IsRootHolder<Local<T>> : std::true_type {};
template <typename T>
struct IsRootHolder<Root<T>> : std::true_type {};
template <typename T>
struct IsRootHolder<Global<T>> : std::true_type {};

template <typename M>
constexpr bool PointsToClass() {
  return std::is_pointer_v<M> && std::is_class_v<std::remove_pointer_t<M>>;
}

// The rules for data inside a managed object.
template <typename M>
constexpr void CheckMember() {
  static_assert(!PointsToClass<std::remove_cv_t<M>>(),
                "a managed object must not hold a raw pointer to a class: use Field<T>, or "
                "Untraced<T*> for an object outside the heap");
  static_assert(!IsRootHolder<std::remove_cv_t<M>>::value,
                "a managed object must not hold a root: use Field<T>");
  static_assert(std::is_trivially_destructible_v<M>,
                "a managed object is never destroyed: it must not own anything; use a "
                "CustomBlock for memory outside the heap");
}

// The offsets of the references, in words, in the order in which they are found.
struct ReferenceList {
  std::array<uint32_t, 256> offsets{};
  uint32_t count = 0;
  size_t end_bytes = 0;  // end of the last member

  size_t trailing_bytes = 0;  // offset of the array after a Trailing member; 0 without such a
                              // member

  constexpr void Add(size_t offset_bytes) {
    offsets[count++] = static_cast<uint32_t>(offset_bytes / kWordBytes);
  }
};

constexpr size_t AlignUp(size_t bytes, size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

template <typename T>
constexpr void AddMembers(ReferenceList& list, size_t start_bytes);

template <typename M>
constexpr void AddMember(ReferenceList& list) {
  CheckMember<M>();
  const size_t offset_bytes = AlignUp(list.end_bytes, alignof(M));
  if constexpr (std::is_array_v<M>) {
    for (size_t i = 0; i < std::extent_v<M>; ++i) AddMember<std::remove_extent_t<M>>(list);
  } else if constexpr (IsField<M>::value) {
    list.Add(offset_bytes);
  } else if constexpr (IsTrailing<M>::value) {
    list.trailing_bytes = offset_bytes + sizeof(M);
  } else if constexpr (std::is_class_v<M> && !IsUntraced<M>::value) {
    AddMembers<M>(list, offset_bytes);
  }
  list.end_bytes = offset_bytes + sizeof(M);
}

template <typename... Ms>
constexpr void AddAll(ReferenceList& list, TypeList<Ms...>) {
  (AddMember<Ms>(list), ...);
}

template <typename T>
constexpr void AddMembers(ReferenceList& list, size_t start_bytes) {
  static_assert(std::is_aggregate_v<T>,
                "a managed type must be an aggregate: public data, no constructors, bases "
                "or virtual functions; or specialise ReferencesOf<T>");
  list.end_bytes = start_bytes;
  AddAll(list, decltype(MembersOf(std::declval<T&>()))());
}

template <typename T>
constexpr ReferenceList FindReferences() {
  ReferenceList list;
  AddMembers<T>(list, 0);
  return list;
}

// Whether reflection has seen all of T.
template <typename T>
constexpr bool SawAll() {
  return std::is_empty_v<T> || AlignUp(FindReferences<T>().end_bytes, alignof(T)) == sizeof(T);
}

}  // namespace internal
}  // namespace allomon::gc

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_LAYOUT_H_

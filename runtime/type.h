// Managed types: plain structs whose references are Field<T>.
//
//   struct Cell {
//     long head;
//     gc::Field<Cell> tail;
//   };
//
// Such an aggregate needs no declaration: the compiler finds its references.  A type that
// reflection cannot take apart (base classes, more than 16 members) lists them:
//
//   template <>
//   struct allomon::gc::ReferencesOf<Node> {
//     static constexpr size_t kOffsetsBytes[] = {offsetof(Node, left), offsetof(Node, right)};
//   };
//
// A reference that is left out of such a list dangles after the next collection.  Managed
// objects are moved by copying their words and are never destroyed, so they must be
// trivially destructible and must not point into themselves.
//
// Snapshots (heap.h) and trackers show a type by its C++ name, and a reference by its number.  A
// type may declare better names.  References are listed in the order of the members' declaration,
// including members of members, or in the order of ReferencesOf:
//
//   struct Cell {
//     static constexpr const char* kTypeName = "cons";
//     static constexpr const char* kReferenceNames[] = {"cdr"};
//     ...
#ifndef ALLOMON_RUNTIME_TYPE_H_
#define ALLOMON_RUNTIME_TYPE_H_

#include <array>
#include <iterator>
#include <string_view>

#include "runtime/internal/object/layout.h"
#include "runtime/internal/object/type_name.h"

namespace allomon::gc {

// Specialise it for types that reflection cannot take apart.
template <typename T>
struct ReferencesOf {};

// For such a type that has numbers only: template <> struct ReferencesOf<T> : NoReferences {};
struct NoReferences {
  static constexpr std::array<size_t, 0> kOffsetsBytes = {};
};

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
  if constexpr (std::is_base_of_v<NoReferences, ReferencesOf<T>>) {
    static_assert(std::is_trivially_copyable_v<T>,
                  "NoReferences is for a struct of numbers, but there is a Field in this one");
    return ReferenceList();
  } else if constexpr (ListsReferences<T>::value) {
    ReferenceList list;
    for (const size_t offset_bytes : ReferencesOf<T>::kOffsetsBytes) list.Add(offset_bytes);
    return list;
  } else {
    static_assert(SawAll<T>(),
                  "reflection does not see all of this type (a base class or a bit-field?): "
                  "specialise ReferencesOf<T>");
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

// The payload size in words: at least one, for the collector's link.
template <typename T>
inline constexpr uint32_t kPayloadWords = (sizeof(T) + kWordBytes - 1) / kWordBytes;

template <typename T>
struct ReferenceNames {
  static constexpr uint32_t kCount = kReferences<T>.count;
  static constexpr std::array<const char*, kCount> kNames =
      NamesInOrder<T, kCount>(kReferences<T>, kPayloadWords<T> <= 64);
};

// nullptr: the references have no names.
template <typename T>
constexpr const char* const* NamesOfReferences() {
  if constexpr (NamesReferences<T>::value) {
    static_assert(std::size(T::kReferenceNames) == kReferences<T>.count,
                  "kReferenceNames has a name for each reference, and no other");
    return ReferenceNames<T>::kNames.data();
  } else {
    return nullptr;
  }
}

template <typename T>
struct TypeInfoOf;

template <typename T, typename = void>
struct DeclaresBase : std::false_type {};
template <typename T>
struct DeclaresBase<T, std::void_t<decltype(T::kIsBase)>> : std::bool_constant<T::kIsBase> {};
// Whether other types may extend T.
template <typename T>
constexpr bool IsExtensible() {
  return DeclaresBase<T>::value;
}

template <typename... Ms>
struct FirstOf {
  using Type = void;
};
template <typename M, typename... Ms>
struct FirstOf<M, Ms...> {
  using Type = M;
};
template <typename... Ms>
typename FirstOf<Ms...>::Type FirstMember(TypeList<Ms...>);

// Whether an object of type T begins with a B.
template <typename T, typename B>
constexpr bool BeginsWith() {
  if constexpr (std::is_base_of_v<B, T>) {
    return true;
  } else if constexpr (ListsReferences<T>::value) {
    return false;
  } else {
    return std::is_same_v<decltype(FirstMember(decltype(MembersOf(std::declval<T&>()))())), B>;
  }
}

// The type that T names by `using Extends = ...`.
template <typename T, typename = void>
struct Extension {
  template <typename B>
  static constexpr bool Leads() {
    return false;
  }
  static constexpr const TypeInfo* Info() { return nullptr; }
};
template <typename T>
struct Extension<T, std::void_t<typename T::Extends>> {
  using Base = typename T::Extends;
  // Whether T extends B, directly or through others.
  template <typename B>
  static constexpr bool Leads() {
    return std::is_same_v<Base, B> || Extension<Base>::template Leads<B>();
  }
  static constexpr const TypeInfo* Info() {
    static_assert(IsExtensible<Base>(),
                  "the type that Extends names says `static constexpr bool kIsBase = true;`");
    static_assert(BeginsWith<T, Base>(),
                  "the type that Extends names is that of the first member, or a base class");
    return &TypeInfoOf<Base>::kInfo;
  }
};

template <typename T>
constexpr bool EndsWithTrailing() {
  constexpr size_t trailing_bytes = kReferences<T>.trailing_bytes;
  static_assert(trailing_bytes == 0 || trailing_bytes == sizeof(T),
                "a Trailing is the last member of the object");
  return trailing_bytes != 0;
}

template <typename... Ms>
struct LastOf {};
template <typename M>
struct LastOf<M> {
  using Type = M;
};
template <typename M, typename N, typename... Ms>
struct LastOf<M, N, Ms...> : LastOf<N, Ms...> {};
template <typename... Ms>
typename LastOf<Ms...>::Type* LastMember(TypeList<Ms...>);

// The element type of T's Trailing.
template <typename T>
struct TrailingOf
    : IsTrailing<
          std::remove_pointer_t<decltype(LastMember(decltype(MembersOf(std::declval<T&>()))()))>> {
};

template <typename T>
constexpr TypeInfo DescribeTrailing() {
  static_assert(!NamesReferences<T>::value, "a type with a Trailing names no references");
  constexpr const ReferenceList& list = kReferences<T>;
  constexpr Kind kind =
      std::is_arithmetic_v<typename TrailingOf<T>::Type> ? Kind::kBytes : Kind::kArray;
  return {NameOf<T>(),
          0,
          list.offsets.data(),
          list.count,
          0,
          kind,
          nullptr,
          Extension<T>::Info(),
          static_cast<uint32_t>(sizeof(T) / kWordBytes - 1)};
}

template <typename T>
constexpr TypeInfo DescribeFixed() {
  constexpr const ReferenceList& list = kReferences<T>;
  if constexpr (EndsWithTrailing<T>()) return DescribeTrailing<T>();
  constexpr uint32_t words = kPayloadWords<T>;
  constexpr const char* const* names = NamesOfReferences<T>();
  constexpr const TypeInfo* extends = Extension<T>::Info();
  if constexpr (words <= 64) {
    return {NameOf<T>(), PointerMap(list), nullptr, 0, words, Kind::kFixed, names, extends};
  } else {
    return {NameOf<T>(), 0, list.offsets.data(), list.count, words, Kind::kFixed, names, extends};
  }
}

// The TypeInfo that headers of T point to.  Other kinds of objects specialise it.
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

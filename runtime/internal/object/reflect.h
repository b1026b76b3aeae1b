// Finds the references inside a plain struct at compile time.  Counts the members of an aggregate
// by trying to brace-initialise it, names them by a structured binding, and computes the offset of
// each one.  No macro, no code at run time.
//
// Works for aggregates of up to 16 members, nested ones and arrays included; the elements of an
// array count.  Not for base classes and bit-fields; for those specialise ReferencesOf (see
// type.h).
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_REFLECT_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_REFLECT_H_

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace allomon::gc::internal {

template <typename... Types>
struct TypeList {};

// Converts to anything but Whole, so that Whole{any} is not a copy.
template <typename Whole>
struct AnyMember {
  template <typename Member, typename = std::enable_if_t<!std::is_same_v<Member, Whole>>>
  operator Member() const noexcept;  // NOLINT: implicit; never defined
};

// Initialises structs by braces, or asks the compiler whether that is possible.  A Field lets only
// this struct leave it out, so a managed struct is no variable.
struct Braces {
  // Whether T{args...} compiles; a narrowing conversion does not.
  template <typename T, typename... Args>
  static auto Take(int)
      -> decltype(static_cast<void>(T{std::declval<Args>()...}), std::true_type());
  template <typename T, typename... Args>
  static std::false_type Take(...);

  // Whether T takes the initialisers `Before`, then {} for one member, then the initialisers
  // `After`.
  template <typename T, size_t... i, size_t... j>
  static auto TakeEmpty(int, std::index_sequence<i...>, std::index_sequence<j...>)
      -> decltype(static_cast<void>(T{(static_cast<void>(i), AnyMember<T>{})...,
                                      {},
                                      (static_cast<void>(j), AnyMember<T>{})...}),
                  std::true_type());
  template <typename T>
  static std::false_type TakeEmpty(...);

  template <typename T, typename... Args>
  static constexpr bool IsNoexcept() {
    return noexcept(T{std::declval<Args>()...});
  }
  template <typename T, typename... Args>
  __attribute__((always_inline)) static void Construct(void* place, Args&&... args) {
    if constexpr (sizeof...(Args) == 0) {
      new (place) T(T{});  // g++ takes `new T{}` for a call of the default constructor
    } else {
      new (place) T{std::forward<Args>(args)...};
    }
  }
};

template <typename T, typename Indices>
struct TakesMembers;
template <typename T, size_t... i>
struct TakesMembers<T, std::index_sequence<i...>>
    : decltype(Braces::Take<T, decltype(static_cast<void>(i), AnyMember<T>{})...>(0)) {};

inline constexpr size_t kMaxMembers = 16;

// Converts to base classes of Whole alone.
template <typename Whole>
struct AnyBase {
  template <typename Base, typename = std::enable_if_t<std::is_base_of_v<Base, Whole> &&
                                                       !std::is_same_v<Base, Whole>>>
  operator Base() const noexcept;  // NOLINT: implicit; never defined
};
template <typename T>
using HasBase = decltype(Braces::Take<T, AnyBase<T>>(0));

template <typename T, typename Before, typename After>
using TakesBraces = decltype(Braces::TakeEmpty<T>(0, Before(), After()));

template <typename T, size_t n = kMaxMembers>
constexpr size_t CountMembers() {
  if constexpr (n == 0 || TakesMembers<T, std::make_index_sequence<n>>::value) {
    return n;
  } else {
    return CountMembers<T, n - 1>();
  }
}

// The number of initialisers that the member at a place takes without braces: more than one for an
// array.  `n`: of all members.
template <typename T, size_t place, size_t n, size_t extent = 1>
constexpr size_t InitializersAt() {
  if constexpr (place + extent > n) {
    return 1;  // {} does not initialise the member, so it is not an array
  } else if constexpr (TakesBraces<T, std::make_index_sequence<place>,
                                   std::make_index_sequence<n - place - extent>>::value) {
    return extent;
  } else {
    return InitializersAt<T, place, n, extent + 1>();
  }
}

// The members from `place` among the initialisers on.  An array is one member.
template <typename T, size_t place = 0>
constexpr size_t CountDeclared() {
  constexpr size_t n = CountMembers<T>();
  if constexpr (place >= n) {
    return 0;
  } else {
    return 1 + CountDeclared<T, place + InitializersAt<T, place, n>()>();
  }
}

// The members' types, as declared.  Only ever named inside decltype.
template <typename... Types>
TypeList<Types...> TypesOf(Types&...);

// clang-format off
template <typename T>
auto MembersOf(T& whole) {
  constexpr bool has_base = HasBase<T>::value;
  constexpr bool is_wide = TakesMembers<T, std::make_index_sequence<kMaxMembers + 1>>::value;
  static_assert(!has_base, "reflection does not see into base classes: specialise ReferencesOf<T>");
  static_assert(!is_wide,
                "reflection sees 16 members, where elements of arrays count: specialise "
                "ReferencesOf<T>, without references: struct ReferencesOf<T> : NoReferences {}");
  constexpr size_t n = has_base || is_wide ? 0 : CountDeclared<T>();
  static_assert(n > 0 || std::is_empty_v<T> || has_base || is_wide,
                "a managed type must be an aggregate");
  if constexpr (n == 0) {
    return TypeList<>();
  } else if constexpr (n == 1) {
    auto& [a] = whole; return decltype(TypesOf(a))();
  } else if constexpr (n == 2) {
    auto& [a, b] = whole; return decltype(TypesOf(a, b))();
  } else if constexpr (n == 3) {
    auto& [a, b, c] = whole; return decltype(TypesOf(a, b, c))();
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = whole; return decltype(TypesOf(a, b, c, d))();
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = whole; return decltype(TypesOf(a, b, c, d, e))();
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = whole; return decltype(TypesOf(a, b, c, d, e, f))();
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = whole; return decltype(TypesOf(a, b, c, d, e, f, g))();
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h))();
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i))();
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j))();
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k))();
  } else if constexpr (n == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k, l))();
  } else if constexpr (n == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k, l, m))();
  } else if constexpr (n == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n0] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k, l, m, n0))();
  } else if constexpr (n == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o))();
  } else if constexpr (n == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o, p] = whole; return decltype(TypesOf(a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o, p))();
  }
}
// clang-format on

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_REFLECT_H_

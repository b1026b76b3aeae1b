// Names of managed types and of their references, put together by the compiler.
//
// A type that declares no name has its spelling as its name, without allomon::gc:: and anonymous
// namespaces.  So g++ and clang give the same name, except for types inside functions.  Types of
// one spelling in several files share a name.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_TYPE_NAME_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_TYPE_NAME_H_

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "runtime/internal/object/layout.h"

namespace allomon::gc::internal {

template <typename T>
constexpr const char* Signature() {
  return __PRETTY_FUNCTION__;
}

// Extracts "Cell" from "... Signature() [with T = Cell; U = ...]".
constexpr std::string_view SpelledName(std::string_view signature) {
  const size_t begin = signature.find("T = ") + 4;
  int depth = 0;
  size_t end = begin;
  for (; end < signature.size(); ++end) {
    const char c = signature[end];
    if (depth == 0 && (c == ';' || c == ']')) break;
    if (c == '[') ++depth;
    if (c == ']') --depth;
  }
  return signature.substr(begin, end - begin);
}

// Returns the length of the qualifier that is removed from the beginning of `text`; 0 without one.
constexpr size_t LeftOut(std::string_view text) {
  constexpr std::string_view kQualifiers[] = {
      "allomon::gc::", "{anonymous}::", "(anonymous namespace)::", "<unnamed>::"};
  for (const std::string_view qualifier : kQualifiers) {
    if (text.substr(0, qualifier.size()) == qualifier) return qualifier.size();
  }
  return 0;
}

// The characters of a name, followed by a zero.
template <typename T>
struct NameText {
  static constexpr std::string_view kSpelled = SpelledName(Signature<T>());

  static constexpr std::array<char, kSpelled.size() + 1> Shortened() {
    std::array<char, kSpelled.size() + 1> text{};
    size_t length = 0;
    for (size_t i = 0; i < kSpelled.size();) {
      const size_t left_out = LeftOut(kSpelled.substr(i));
      const bool between = length > 0 && text[length - 1] == '>' && kSpelled.substr(i, 2) == " >";
      if (left_out == 0 && !between) text[length++] = kSpelled[i];
      i += left_out == 0 ? 1 : left_out;
    }
    return text;
  }
  static constexpr std::array<char, kSpelled.size() + 1> kText = Shortened();
};

template <typename T, typename = void>
struct DeclaresName : std::false_type {};
template <typename T>
struct DeclaresName<T, std::void_t<decltype(T::kTypeName)>>
    : std::is_convertible<decltype(T::kTypeName), const char*> {};

// T::kTypeName, or the spelling of T.
template <typename T>
constexpr const char* NameOf() {
  if constexpr (DeclaresName<T>::value) {
    return T::kTypeName;
  } else {
    return NameText<T>::kText.data();
  }
}

template <typename T, typename = void>
struct NamesReferences : std::false_type {};
template <typename T>
struct NamesReferences<T, std::void_t<decltype(T::kReferenceNames)>> : std::true_type {};

// T::kReferenceNames in the order in which the collector visits the references: by offset if a
// pointer map holds them, otherwise as in the list.
template <typename T, uint32_t kCount>
constexpr std::array<const char*, kCount> NamesInOrder(const ReferenceList& list, bool by_offset) {
  std::array<const char*, kCount> names{};
  for (uint32_t i = 0; i < kCount; ++i) {
    uint32_t place = by_offset ? 0 : i;
    for (uint32_t j = 0; by_offset && j < kCount; ++j) {
      place += list.offsets[j] < list.offsets[i] ? 1 : 0;
    }
    names[place] = T::kReferenceNames[i];
  }
  return names;
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_TYPE_NAME_H_

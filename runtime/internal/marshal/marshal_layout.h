// The layout of a type for marshalling, computed by the compiler: the bytes that are plain data,
// and the type that each reference may refer to.
//
// Padding is not plain data: its bytes may come from other objects, and must not be written out.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_LAYOUT_H_
#define ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_LAYOUT_H_

#include <array>
#include <tuple>
#include <type_traits>

#include "runtime/array.h"
#include "runtime/internal/object/layout.h"
#include "runtime/numbers.h"
#include "runtime/type.h"

namespace allomon::gc::internal {

struct MarshalReference {
  uint32_t word;
  const TypeInfo* target;
};

// The target of a member or an element that is a Value.
inline bool IsValueTarget(const TypeInfo* target) { return target == &TypeInfoOf<Value>::kInfo; }

// Whether a reference to a `target` may be to an object of that type.
inline bool MayReferTo(const TypeInfo* target, const TypeInfo* type) {
  if (IsValueTarget(target) || target == &TypeInfoOf<Any>::kInfo) return true;
  while (type != nullptr && type != target) type = type->extends;
  return type != nullptr;
}

// Bytes that are copied.  Bools are checked: reading one that is neither 0 nor 1 would be undefined
// behaviour.
struct MarshalRun {
  uint32_t offset_bytes;
  uint32_t size_bytes;
  bool is_bool;
};

struct MarshalLayout {
  const TypeInfo* type;
  uintptr_t header;
  uint64_t fingerprint;
  const MarshalReference* references;
  const MarshalRun* runs;
  uint32_t n_references;
  uint32_t n_runs;
  uint32_t plain_bytes;     // total of all runs
  const TypeInfo* element;  // type of an array's elements
};

// Grows while the compiler walks over a type.
struct MarshalMembers {
  std::array<MarshalReference, 256> references{};
  std::array<MarshalRun, 256> runs{};
  uint32_t n_references = 0;
  uint32_t n_runs = 0;
  uint32_t plain_bytes = 0;
  uint64_t fingerprint = 0xcbf29ce484222325;  // FNV-1a

  constexpr void Print(uint64_t value) {
    for (int i = 0; i < 8; ++i) {
      fingerprint = (fingerprint ^ (value >> 8 * i & 0xff)) * 0x100000001b3;
    }
  }

  constexpr void AddReference(size_t offset_bytes, const TypeInfo* target, char kind = 'r') {
    Print(static_cast<uint64_t>(kind));
    Print(offset_bytes);
    references[n_references++] = {static_cast<uint32_t>(offset_bytes / kWordBytes), target};
  }

  constexpr void AddPlain(char kind, size_t offset_bytes, size_t size_bytes) {
    Print(static_cast<uint64_t>(kind));
    Print(offset_bytes);
    Print(size_bytes);
    plain_bytes += static_cast<uint32_t>(size_bytes);
    const bool is_bool = kind == 'b';
    if (n_runs > 0) {
      MarshalRun& last = runs[n_runs - 1];
      if (last.is_bool == is_bool && last.offset_bytes + last.size_bytes == offset_bytes) {
        last.size_bytes += static_cast<uint32_t>(size_bytes);
        return;
      }
    }
    runs[n_runs++] = {static_cast<uint32_t>(offset_bytes), static_cast<uint32_t>(size_bytes),
                      is_bool};
  }
};

template <typename M>
constexpr char PlainKind() {
  static_assert(std::is_arithmetic_v<M> || std::is_enum_v<M>,
                "only numbers, enums and references can be marshalled: an address means "
                "nothing to another process");
  if constexpr (std::is_same_v<std::remove_cv_t<M>, bool>) {
    return 'b';
  } else if constexpr (std::is_floating_point_v<M>) {
    return 'f';
  } else if constexpr (std::is_enum_v<M>) {
    return 'e';
  } else {
    return std::is_signed_v<M> ? 'i' : 'u';
  }
}

template <typename M>
struct TargetOf {};
template <typename T>
struct TargetOf<Field<T>> {
  using Type = T;
};

template <typename T>
constexpr void WalkMembers(MarshalMembers& found, size_t start_bytes);

// Returns the end of the member; the walk is that of layout.h.
template <typename M>
constexpr size_t WalkMember(MarshalMembers& found, size_t after_bytes) {
  const size_t offset_bytes = AlignUp(after_bytes, alignof(M));
  if constexpr (std::is_array_v<M>) {
    using Element = std::remove_extent_t<M>;
    size_t end_bytes = offset_bytes;
    for (size_t i = 0; i < std::extent_v<M>; ++i) end_bytes = WalkMember<Element>(found, end_bytes);
  } else if constexpr (IsField<M>::value) {
    using Target = typename TargetOf<M>::Type;
    found.AddReference(offset_bytes, &TypeInfoOf<Target>::kInfo,
                       std::is_same_v<Target, Value> ? 'v' : 'r');
  } else if constexpr (IsUntraced<M>::value) {
    found.AddPlain(PlainKind<M>(), offset_bytes, sizeof(M));  // refuses it
  } else if constexpr (std::is_class_v<M>) {
    WalkMembers<M>(found, offset_bytes);
  } else {
    found.AddPlain(PlainKind<M>(), offset_bytes, sizeof(M));
  }
  return offset_bytes + sizeof(M);
}

template <typename... Ms>
constexpr void WalkAll(MarshalMembers& found, size_t start_bytes, TypeList<Ms...>) {
  size_t end_bytes = start_bytes;
  ((end_bytes = WalkMember<Ms>(found, end_bytes)), ...);
  static_cast<void>(end_bytes);
}

template <typename T>
constexpr void WalkMembers(MarshalMembers& found, size_t start_bytes) {
  WalkAll(found, start_bytes, decltype(MembersOf(std::declval<T&>()))());
}

template <typename T, typename = void>
struct ListsTargets : std::false_type {};
template <typename T>
struct ListsTargets<T, std::void_t<typename ReferencesOf<T>::Targets>> : std::true_type {};

// The references of a type with ReferencesOf are listed; all bytes between them are plain.
template <typename T, typename... Targets>
constexpr void WalkListed(MarshalMembers& found, std::tuple<Targets...>*) {
  constexpr size_t n = std::size(ReferencesOf<T>::kOffsetsBytes);
  static_assert(sizeof...(Targets) == 1 || sizeof...(Targets) == n,
                "ReferencesOf<T>::Targets names one type for each offset, or one for all");
  const TypeInfo* const targets[] = {&TypeInfoOf<Targets>::kInfo...};
  constexpr char kinds[] = {std::is_same_v<Targets, Value> ? 'v' : 'r' ...};
  size_t plain_bytes = 0;
  for (size_t i = 0; i < n; ++i) {
    const size_t offset_bytes = ReferencesOf<T>::kOffsetsBytes[i];
    // An exception in a constant expression, which the compiler reports.
    if (offset_bytes < plain_bytes) throw "kOffsetsBytes must ascend to be marshalled";
    if (plain_bytes < offset_bytes) found.AddPlain('?', plain_bytes, offset_bytes - plain_bytes);
    const size_t which = sizeof...(Targets) == 1 ? 0 : i;
    found.AddReference(offset_bytes, targets[which], kinds[which]);
    plain_bytes = offset_bytes + kWordBytes;
  }
  if (plain_bytes < sizeof(T)) found.AddPlain('?', plain_bytes, sizeof(T) - plain_bytes);
}

template <typename T>
constexpr MarshalMembers FindMarshalMembers() {
  MarshalMembers found;
  found.Print(sizeof(T));
  if constexpr (ListsReferences<T>::value) {
    static_assert(ListsTargets<T>::value,
                  "to marshal a type with listed references, say what they refer to: add "
                  "`using Targets = std::tuple<...>;` to ReferencesOf<T>, in ascending order "
                  "of offsets");
    WalkListed<T>(found, static_cast<typename ReferencesOf<T>::Targets*>(nullptr));
  } else {
    WalkMembers<T>(found, 0);
  }
  return found;
}

template <typename T>
inline constexpr MarshalMembers kMarshalMembers = FindMarshalMembers<T>();

// The fingerprint of arrays ('a') and byte strings ('s').
constexpr uint64_t FingerprintOfKind(char kind) {
  MarshalMembers members;
  members.Print(static_cast<uint64_t>(kind));
  return members.fingerprint;
}

// The layout that MarshalTypes keeps of each type.
template <typename T>
struct MarshalLayoutOf {
  static_assert(TypeInfoOf<T>::kInfo.kind != Kind::kEphemeron,
                "weak references and ephemerons cannot be marshalled");
  static_assert(TypeInfoOf<T>::kInfo.size_words != 0,
                "a type with a Trailing cannot be marshalled");
  static_assert(std::is_aggregate_v<T>, "only structs, arrays and Bytes can be marshalled");
  static MarshalLayout Get() {
    constexpr const MarshalMembers& m = kMarshalMembers<T>;
    return {&TypeInfoOf<T>::kInfo,
            HeaderFor<T>(),
            m.fingerprint,
            m.references.data(),
            m.runs.data(),
            m.n_references,
            m.n_runs,
            m.plain_bytes,
            nullptr};
  }
};
template <typename T>
struct MarshalLayoutOf<Array<T>> {
  static MarshalLayout Get() {
    return {&TypeInfoOf<Array<T>>::kInfo,
            HeaderFor<Array<T>>(),
            FingerprintOfKind(std::is_same_v<T, Value> ? 'v' : 'a'),
            nullptr,
            nullptr,
            0,
            0,
            0,
            &TypeInfoOf<T>::kInfo};
  }
};
template <typename N>
struct MarshalLayoutOf<Numbers<N>> {
  static MarshalLayout Get() {
    MarshalMembers members;
    members.AddPlain(PlainKind<N>(), kWordBytes, sizeof(N));
    return {&TypeInfoOf<Numbers<N>>::kInfo,
            HeaderFor<Numbers<N>>(),
            members.fingerprint,
            nullptr,
            nullptr,
            0,
            0,
            0,
            nullptr};
  }
};
template <>
struct MarshalLayoutOf<Bytes> {
  static MarshalLayout Get() {
    return {&TypeInfoOf<Bytes>::kInfo,
            HeaderFor<Bytes>(),
            FingerprintOfKind('s'),
            nullptr,
            nullptr,
            0,
            0,
            0,
            nullptr};
  }
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARSHAL_MARSHAL_LAYOUT_H_

// The layout of a managed object in memory: an 8-byte header, then the user's plain struct.
// A pointer to an object points behind the header.
//
//   header   address of the TypeInfo, with three low bits
//     bit 0  forwarded: the rest is the object's new address (during a minor collection)
//     bit 1  of a young object: it has tenure; of another: it is large, and a LargeNode stands
//            before the header
//     bit 2  stays: of a young object, see kStaysBit
//
// Sizes are in words of 8 bytes.  Every object has at least one word behind its header, because the
// collector links dead copies through it.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allomon::gc::internal {

inline constexpr size_t kWordBytes = 8;
// An object with a larger payload is born old, in a block of its own.
inline constexpr size_t kMaxYoungBytes = 8 << 10;

// More words cannot be addressed; sizes computed from this number do not wrap.
inline constexpr uint64_t kMostWords = uint64_t{1} << 57;

// Never defined: the type that reference slots point to.
struct Object;

// The collector reads and copies words of any type.
using Word __attribute__((may_alias)) = uintptr_t;

enum class Kind : uint8_t {
  kFixed,      // references where pointer_map or offsets say
  kArray,      // fixed words, of which the last one is a length; then as many references
  kBytes,      // the same with as many bytes
  kEphemeron,  // Ephemeron in weak.h: a key that is not traced, a value
  kShaped,     // as kFixed, with a TypeInfo that is made at run time: shape.h
};

struct TypeInfo {
  const char* name;
  // kFixed: bit i tells that word i is a reference, for objects of up to 64 words.
  uint64_t pointer_map;
  // kFixed with more than 64 words, kArray, kBytes: where the fixed references are, in words.
  const uint32_t* offsets;
  uint32_t n_offsets;
  uint32_t size_words;  // 0 where the object tells its size: kArray, kBytes
  Kind kind;
  // Of the references, in the order of ForEachSlot(); nullptr: they have no names.
  const char* const* reference_names = nullptr;
  const TypeInfo* extends = nullptr;  // the type of the object's beginning: value.h
  uint32_t length_word = 0;           // kArray, kBytes: the place of the length
};

inline constexpr uintptr_t kForwardedBit = 1;
inline constexpr uintptr_t kLargeBit = 2;
// Of a young object: a stack pins it, or it has tenure.  Outside of collections only those have the
// bit that have tenure, and these have the next one, too.
inline constexpr uintptr_t kStaysBit = 4;
// Of a young object only: it is old, in its place.
inline constexpr uintptr_t kTenuredBit = kLargeBit;
inline constexpr uintptr_t kHeaderBits = 7;

inline Word* WordsOf(Object* object) { return reinterpret_cast<Word*>(object); }
inline Word& HeaderOf(Object* object) { return WordsOf(object)[-1]; }
inline const TypeInfo& TypeOf(uintptr_t header) {
  return *reinterpret_cast<const TypeInfo*>(header & ~kHeaderBits);
}
// Of an object that is not young.
inline bool IsLarge(uintptr_t header) { return (header & kLargeBit) != 0; }

// A reference slot, as the collector uses it.
using Slot = Object*;
inline Slot* SlotsOf(Object* object) { return reinterpret_cast<Slot*>(object); }

// Of an Array, or the bytes of Bytes.
inline uint64_t ArrayLength(Object* object) { return *WordsOf(object); }
// 2^61 references cannot be allocated, so this does not wrap.
inline uint64_t BytesToWords(uint64_t bytes) {
  return bytes / kWordBytes + (bytes % kWordBytes != 0 ? 1 : 0);
}

// Words behind the header.
inline uint64_t SizeWords(const TypeInfo& type, Object* object) {
  if (__builtin_expect(type.size_words != 0, 1)) return type.size_words;
  const uint64_t length = WordsOf(object)[type.length_word];
  return type.length_word + 1 + (type.kind == Kind::kArray ? length : BytesToWords(length));
}

// Of an object, without the elements of an array.
inline uint64_t CountReferences(const TypeInfo& type) {
  return static_cast<uint64_t>(__builtin_popcountll(type.pointer_map)) + type.n_offsets;
}

inline bool HasReferences(const TypeInfo& type) {
  return type.pointer_map != 0 || type.n_offsets != 0 || type.kind == Kind::kArray;
}

// Calls visit(Slot&) for each strong reference.
template <typename Visit>
inline void ForEachSlot(const TypeInfo& type, Object* object, Visit&& visit) {
  Slot* slots = SlotsOf(object);
  uint64_t map = type.pointer_map;
  if (__builtin_expect(map != 0, 1)) {  // then there are neither offsets nor elements
    do {
      visit(slots[__builtin_ctzll(map)]);
      map &= map - 1;
    } while (map != 0);
    return;
  }
  for (uint32_t i = 0; i < type.n_offsets; ++i) visit(slots[type.offsets[i]]);
  if (type.kind != Kind::kArray) return;
  const uint64_t first = type.length_word + 1;
  for (uint64_t i = first, end = first + WordsOf(object)[first - 1]; i < end; ++i) visit(slots[i]);
}

// The same for the references in words [from, to) of the object.
template <typename Visit>
inline void ForEachSlotBetween(const TypeInfo& type, Object* object, uint64_t from, uint64_t to,
                               Visit&& visit) {
  Slot* const slots = SlotsOf(object);
  for (uint64_t map = type.pointer_map; map != 0; map &= map - 1) {
    const uint64_t i = static_cast<uint64_t>(__builtin_ctzll(map));
    if (i >= from && i < to) visit(slots[i]);
  }
  for (uint32_t i = 0; i < type.n_offsets; ++i) {
    if (type.offsets[i] >= from && type.offsets[i] < to) visit(slots[type.offsets[i]]);
  }
  if (type.kind != Kind::kArray) return;
  const uint64_t first = type.length_word + 1;
  const uint64_t end = std::min(to, first + WordsOf(object)[first - 1]);
  for (uint64_t i = std::max(from, first); i < end; ++i) visit(slots[i]);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_H_

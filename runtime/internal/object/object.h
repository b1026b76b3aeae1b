// The layout of a managed object in memory: an 8-byte header, then the user's plain struct. A
// pointer to an object points just past the header.
//
//   header   address of the TypeInfo, with three low bits
//     bit 0  forwarded: the rest is the object's new address (during a minor collection)
//     bit 1  young object: it has tenure (during a minor collection also: an ephemeron waits for
//            it); other object: it is large, and a LargeNode lies before the header
//     bit 2  young object: it stays, see kStaysBit
//
// Sizes are in words of 8 bytes.  Every object has at least one word after its header, because the
// collector links dead copies through it.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_OBJECT_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_OBJECT_H_

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
  kFixed,   // pointer_map or offsets tell the references
  kArray,   // fixed words, the last of which is a length; then as many references
  kBytes,   // the same with as many bytes
  kShaped,  // like kFixed, with a TypeInfo made at run time: shape.h
  // From here on: pairs of a key that is not traced, and a value (ephemeron_pairs.h).
  kEphemeron,    // one: Ephemeron in weak.h
  kWeakEntries,  // a table of them: WeakMap in weak_map.h; its size is found like that of kBytes
};

struct TypeInfo {
  const char* name;
  // kFixed: bit i tells that word i is a reference, for objects of up to 64 words.
  uint64_t pointer_map;
  // kFixed with more than 64 words, kArray, kBytes: the positions of the fixed references, in
  // words.
  const uint32_t* offsets;
  uint32_t n_offsets;
  uint32_t size_words;  // 0 for kArray and kBytes, whose objects hold their size
  Kind kind;
  // Names of the references, in the order of ForEachSlot(); nullptr: they have no names.
  const char* const* reference_names = nullptr;
  const TypeInfo* extends = nullptr;  // the type that the object begins with: value.h
  uint32_t length_word = 0;           // kArray, kBytes: the position of the length
};

inline constexpr uintptr_t kForwardedBit = 1;
inline constexpr uintptr_t kLargeBit = 2;
// Set in a young object that a stack pins or that has tenure.  Outside of collections only objects
// with tenure have it, together with kTenuredBit.
inline constexpr uintptr_t kStaysBit = 4;
// Set in a young object that counts as old without having moved.
inline constexpr uintptr_t kTenuredBit = kLargeBit;
inline constexpr uintptr_t kHeaderBits = 7;

inline Word* WordsOf(Object* object) { return reinterpret_cast<Word*>(object); }
inline Word& HeaderOf(Object* object) { return WordsOf(object)[-1]; }
inline const TypeInfo& TypeOf(uintptr_t header) {
  return *reinterpret_cast<const TypeInfo*>(header & ~kHeaderBits);
}
// For an object that is not young.
inline bool IsLarge(uintptr_t header) { return (header & kLargeBit) != 0; }

// A reference slot, as the collector uses it.
using Slot = Object*;
inline Slot* SlotsOf(Object* object) { return reinterpret_cast<Slot*>(object); }

// Returns an Array's length, or the bytes of Bytes.
inline uint64_t ArrayLength(Object* object) { return *WordsOf(object); }
// 2^61 references cannot be allocated, so this does not wrap.
inline uint64_t BytesToWords(uint64_t bytes) {
  return bytes / kWordBytes + (bytes % kWordBytes != 0 ? 1 : 0);
}

// Returns the number of words after the header.
inline uint64_t SizeWords(const TypeInfo& type, Object* object) {
  if (__builtin_expect(type.size_words != 0, 1)) return type.size_words;
  const uint64_t length = WordsOf(object)[type.length_word];
  return type.length_word + 1 + (type.kind == Kind::kArray ? length : BytesToWords(length));
}

// Returns the number of fixed references of an object, without the elements of an array.
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

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_OBJECT_H_

// The word of a Value, and the tests that the collector makes on it.
//
//   0                        null
//   8, 16, ... below 4096    false, true, and the constants of the program
//   4096 to 2^48 - 1         the address of an object, as in any other reference
//   2^48 + a double's bits   that double; all NaNs are one
//   the upper 2^51 words     integers, in their order
//
// So the barrier and a minor collection, which compare a word with the range of young addresses,
// need not distinguish a Value from a Field.  Marking compares with a range instead of with null.
#ifndef ALLOMON_RUNTIME_INTERNAL_OBJECT_VALUE_WORD_H_
#define ALLOMON_RUNTIME_INTERNAL_OBJECT_VALUE_WORD_H_

#include <cstdint>
#include <cstring>

#include "runtime/internal/object/object.h"

namespace allomon::gc::internal {

inline constexpr uintptr_t kFirstAddress = 4096;
inline constexpr uintptr_t kFirstDouble = uintptr_t{1} << 48;
inline constexpr uintptr_t kFirstInt = uintptr_t{0xfff8} << 48;
// The word of the integer 0.  The word of n is this word + n.
inline constexpr uintptr_t kIntZero = uintptr_t{0xfffc} << 48;
inline constexpr int64_t kLeastInt = -(int64_t{1} << 50);
inline constexpr int64_t kMostInt = (int64_t{1} << 50) - 1;

inline constexpr uintptr_t kFalseWord = 8;
inline constexpr uintptr_t kTrueWord = 16;
inline constexpr uintptr_t kFirstConstantWord = 24;
inline constexpr unsigned kMostConstants = (kFirstAddress - kFirstConstantWord) / 8;

// The bits of the NaN that represents all NaNs, and those of minus infinity: only other NaNs have
// larger bits.
inline constexpr uint64_t kNanBits = uint64_t{0x7ff8} << 48;
inline constexpr uint64_t kLastDoubleBits = uint64_t{0xfff0} << 48;

constexpr bool IsReferenceWord(uintptr_t word) {
  return word - kFirstAddress < kFirstDouble - kFirstAddress;
}
constexpr bool IsIntWord(uintptr_t word) { return word >= kFirstInt; }
constexpr bool IsDoubleWord(uintptr_t word) {
  return word - kFirstDouble < kFirstInt - kFirstDouble;
}

inline uintptr_t WordOfDouble(double number) {
  uint64_t bits = 0;
  memcpy(&bits, &number, sizeof(bits));
  return (number != number ? kNanBits : bits) + kFirstDouble;
}
inline double DoubleOfWord(uintptr_t word) {
  const uint64_t bits = word - kFirstDouble;
  double number = 0;
  memcpy(&number, &bits, sizeof(number));
  return number;
}
constexpr int64_t IntOfWord(uintptr_t word) { return static_cast<int64_t>(word - kIntZero); }

inline uintptr_t WordOf(const Object* object) { return reinterpret_cast<uintptr_t>(object); }

// Returns false for null and for all Values that are no references.
inline bool PointsToObject(const Object* object) { return IsReferenceWord(WordOf(object)); }

// Whether a word from outside is null, a boolean, a constant, a double or an integer exactly as
// this program would encode it.
constexpr bool IsImmediateWord(uintptr_t word) {
  if (word < kFirstAddress) return word % 8 == 0;
  if (!IsDoubleWord(word)) return IsIntWord(word);
  const uint64_t bits = word - kFirstDouble;
  const bool is_nan = (bits & ~(uint64_t{1} << 63)) > uint64_t{0x7ff0} << 48;
  return bits <= kLastDoubleBits && (!is_nan || bits == kNanBits);
}

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_OBJECT_VALUE_WORD_H_

// Sizes in words of 8 bytes, the unit in which trials are held.
#ifndef ALLOMON_TRACKER_BASE_WORDS_H_
#define ALLOMON_TRACKER_BASE_WORDS_H_

#include <cstdint>

namespace allomon::internal {

inline constexpr uint64_t kBytesPerWord = 8;

// Rounded up.  Right for every size, also where size_bytes + 7 would wrap.
constexpr uint64_t WordsOf(uint64_t size_bytes) {
  return size_bytes / kBytesPerWord + (size_bytes % kBytesPerWord != 0 ? 1 : 0);
}

// With the header word on which malloc's blocks and managed ones hold a trial, too.
constexpr uint64_t WordsWithHeader(uint64_t size_bytes) { return WordsOf(size_bytes) + 1; }

// The same where size_bytes + 15 does not wrap, because a size that large was refused before.  One
// instruction fewer on the path of every malloc.
constexpr uint64_t WordsWithHeaderFast(uint64_t size_bytes) {
  return (size_bytes + kBytesPerWord - 1 + kBytesPerWord) / kBytesPerWord;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_WORDS_H_

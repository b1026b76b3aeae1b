// Sizes in words of 8 bytes, the unit of trials.
#ifndef ALLOMON_TRACKER_BASE_WORDS_H_
#define ALLOMON_TRACKER_BASE_WORDS_H_

#include <cstdint>

namespace allomon::internal {

inline constexpr uint64_t kBytesPerWord = 8;

// Rounds up.  Correct for every size, also if size_bytes + 7 would wrap.
constexpr uint64_t WordsOf(uint64_t size_bytes) {
  return size_bytes / kBytesPerWord + (size_bytes % kBytesPerWord != 0 ? 1 : 0);
}

// Includes the header word, which also stands trial for malloc's and managed blocks.
constexpr uint64_t WordsWithHeader(uint64_t size_bytes) { return WordsOf(size_bytes) + 1; }

// The same if size_bytes + 15 does not wrap, because such a large size was refused before.  One
// instruction fewer on the path of every malloc.
constexpr uint64_t WordsWithHeaderFast(uint64_t size_bytes) {
  return (size_bytes + kBytesPerWord - 1 + kBytesPerWord) / kBytesPerWord;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_WORDS_H_

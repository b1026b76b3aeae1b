// Finds objects by their marks, and the gaps between them.
#include "runtime/internal/space/chunk.h"

#include <algorithm>

#include "tracker/base/check.h"

namespace allomon::gc::internal {

// The mark of an object is the bit of its first word after the header.
Object* Chunk::MarkedAt(char* byte) {
  // The search stays within the block: all bits of an adjacent fresh block are set, whatever it
  // holds.
  constexpr size_t kMostWords = kMaxYoungBytes / kWordBytes + 1;
  const size_t block = BlockOf(byte) * kBlockWords;
  const size_t at = std::min(OffsetOf(byte) / kWordBytes + 1 - block, kBlockWords - 1);
  const size_t least = at > kMostWords ? at - kMostWords : 1;
  for (size_t word = block + at; word >= block + least; --word) {
    if ((marks[word / 64] >> word % 64 & 1) == 0) continue;
    Object* const object = reinterpret_cast<Object*>(start() + word * kWordBytes);
    return byte < EndOf(object) ? object : nullptr;
  }
  return nullptr;
}

// The objects of the block end at its end, or at a zero word, which is no header.
Object* Chunk::WalkedTo(const char* byte) {
  for (char* at = BlockAt(BlockOf(byte)); at <= byte;) {
    Object* const object = reinterpret_cast<Object*>(at + kWordBytes);
    if (HeaderOf(object) == 0) return nullptr;
    at = EndOf(object);
    if (byte < at) return object;
  }
  return nullptr;
}

// Returns the first marked word in [word, end), or `end`.
size_t Chunk::NextMark(size_t word, size_t end) const {
  for (; word < end; word = (word | 63) + 1) {
    const uint64_t bits = marks[word / 64] >> word % 64;
    if (bits != 0) return word + static_cast<size_t>(__builtin_ctzll(bits));
  }
  return end;
}

// The header of a marked object lies one word before its mark.
Chunk::Gap Chunk::FindGap(char* at, size_t bytes) {
  const size_t end = (BlockOf(at) + 1) * kBlockWords;
  for (size_t word = OffsetOf(at) / kWordBytes;;) {
    const size_t mark = NextMark(word + 1, end);
    const size_t gap_end = mark == end ? end : mark - 1;
    if ((gap_end - word) * kWordBytes >= bytes) {
      return {start() + word * kWordBytes, start() + gap_end * kWordBytes};
    }
    if (mark == end) return {nullptr, nullptr};
    char* const next = EndOf(reinterpret_cast<Object*>(start() + mark * kWordBytes));
    word = static_cast<size_t>(next - start()) / kWordBytes;
    ALLOMON_DCHECK_LE("inv.space.gap", word, end);
    if (word == end) return {nullptr, nullptr};
  }
}

void Chunk::MarkPlaced(char* begin, const char* end) {
  for (char* at = begin; at < end;) {
    Object* const object = reinterpret_cast<Object*>(at + kWordBytes);
    SetMarked(object);
    at = EndOf(object);
    ALLOMON_DCHECK_LE("inv.space.gap", at, end);
  }
}

}  // namespace allomon::gc::internal

// Finds the object that holds a byte.
#include "runtime/internal/space/chunk.h"

#include <algorithm>

namespace allomon::gc::internal {

// The mark of an object is the bit of its first word after the header.
Object* Chunk::MarkedAt(char* byte) {
  // The search stays within the block: all bits of an adjacent fresh block are set, whatever it
  // holds.
  constexpr size_t kBlockWords = kBlockBytes / kWordBytes;
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

// A hole begins after a marked line, or at the start of its block.
Object* Chunk::PromotedAt(char* byte) {
  const size_t first = OffsetOf(byte) / kBlockBytes * kLinesPerBlock;
  size_t line = OffsetOf(byte) / kLineBytes;
  while (line > first && (lines[line] == kFreeLine || lines[line] == kFilledLine)) --line;
  if (lines[line] != kHoleLine) return nullptr;
  for (char* at = start() + line * kLineBytes; at <= byte;) {
    Object* const object = reinterpret_cast<Object*>(at + kWordBytes);
    if (HeaderOf(object) == 0) return nullptr;
    at = EndOf(object);
    if (byte < at) return object;
  }
  return nullptr;
}

}  // namespace allomon::gc::internal

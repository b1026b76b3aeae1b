// Which object holds a byte.
#include "runtime/internal/chunk.h"

#include <algorithm>

namespace allomon::gc::internal {

// Marks are at the words of objects, behind their headers.
Object* Chunk::MarkedAt(char* byte) {
  // In its block alone: all bits of a fresh one beside it are set, whatever lies there.
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

// A hole begins behind a marked line, or where its block does.
Object* Chunk::PromotedAt(char* byte) {
  const size_t first = OffsetOf(byte) / kBlockBytes * kLinesPerBlock;
  size_t line = OffsetOf(byte) / kLineBytes;
  while (line > first && lines[line] == kFreeLine) --line;
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

// Which object holds a byte.
#include "runtime/internal/chunk.h"

#include <algorithm>

namespace allomon::gc::internal {

// Marks are at the words of objects, behind their headers.
Object* Chunk::MarkedAt(char* byte) {
  // Of the same block: all bits of a fresh block beside it are set, whatever lies there.
  constexpr size_t kBlockWords = kBlockBytes / kWordBytes;
  const size_t first = OffsetOf(byte) / kBlockBytes * kBlockWords;
  const size_t most_words = kMaxYoungBytes / kWordBytes + 1;
  const size_t at = std::min(OffsetOf(byte) / kWordBytes + 1, first + kBlockWords - 1);
  const size_t least = std::max(first, at - std::min(at, most_words)) + 1;
  for (size_t word = at; word >= least; --word) {
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

#include "tracker/lua/function_identity.h"

namespace allomon::lua {
namespace {

using internal::ReadableMemory;

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;

uint64_t Mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kOdd;
  return hash ^ hash >> 29;
}

char At(const Text& text, size_t i) {
  return static_cast<char>(ReadableMemory::LoadCovered<uint8_t>(text.begin + i));
}

// Returns the length of the first line.
size_t LineBytes(const Text& text) {
  size_t bytes = 0;
  while (bytes < text.bytes && At(text, bytes) != '\n') ++bytes;
  return bytes;
}

// Reads whole aligned words, which lie in the same page as their first byte.
uint64_t HashOf(const Text& text) {
  uint64_t hash = text.bytes;
  uintptr_t at = text.begin & ~uintptr_t{7};
  const uintptr_t end = text.begin + text.bytes;
  uint64_t keep = ~uint64_t{0} << 8 * (text.begin - at);
  for (; at < end; at += sizeof(uint64_t)) {
    if (end - at < sizeof(uint64_t)) keep &= (uint64_t{1} << 8 * (end - at)) - 1;
    hash = Mix(hash, ReadableMemory::LoadCovered<uint64_t>(at) & keep);
    keep = ~uint64_t{0};
  }
  return hash;
}

uint64_t Both(int32_t a, int32_t b) {
  return uint64_t{static_cast<uint32_t>(a)} << 32 | static_cast<uint32_t>(b);
}

}  // namespace

bool ReadSource(uintptr_t string, ObjectReader* reader, Source* source) {
  *source = {{0, 0}, '=', false};
  if (string == 0) return true;  // stripped
  Text& text = source->text;
  if (!reader->ReadText(string, kMostFileBytes, &text)) return false;
  const char first = text.bytes == 0 ? '\0' : At(text, 0);
  if (first == '@' || first == '=') {
    source->kind = first;
    ++text.begin;
    --text.bytes;
    return true;
  }
  const size_t line_bytes = LineBytes(text);
  source->kind = 0;
  source->is_cut = line_bytes < text.bytes || line_bytes > kMostTextBytes;
  text.bytes = line_bytes < kMostTextBytes ? line_bytes : kMostTextBytes;
  return true;
}

bool IdentityOf(const Prototype& prototype, ObjectReader* reader, uintptr_t* identity) {
  Source source;
  if (!ReadSource(prototype.source, reader, &source)) return false;
  uint64_t hash = HashOf(source.text);
  hash = Mix(hash, static_cast<uint64_t>(source.kind) << 1 | source.is_cut);
  hash = Mix(hash, Both(prototype.first_line, prototype.last_line));
  hash = Mix(hash, static_cast<uint32_t>(prototype.code_count));
  *identity = static_cast<uintptr_t>(hash);
  return true;
}

}  // namespace allomon::lua

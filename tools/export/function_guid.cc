#include "tools/export/function_guid.h"

#include <cmath>
#include <cstddef>
#include <string>

namespace allomon::interchange {
namespace {

// Compilers append these to names of clones and parts.  A number follows those that end with a dot.
constexpr std::string_view kSuffixes[] = {".llvm.",      ".part.",     ".isra.",
                                          ".constprop.", ".lto_priv.", ".cold"};

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// Returns the length of the suffix that ends the name; 0 if none of them does.
size_t SuffixBytes(std::string_view name) {
  for (const std::string_view suffix : kSuffixes) {
    const size_t begin = name.rfind(suffix);
    if (begin == name.npos || begin == 0) continue;
    const std::string_view rest = name.substr(begin + suffix.size());
    if (suffix.back() == '.' ? IsNumber(rest) : rest.empty()) return name.size() - begin;
  }
  return 0;
}

constexpr size_t kBlockBytes = 64;
constexpr size_t kLengthBytes = 8;
constexpr uint32_t kSteps = 64;

struct Words {
  uint32_t a = 0x67452301;
  uint32_t b = 0xefcdab89;
  uint32_t c = 0x98badcfe;
  uint32_t d = 0x10325476;
};

uint32_t RotatedLeft(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

uint32_t LittleEndian(const char* bytes) {
  uint32_t word = 0;
  for (int i = 4; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[i]);
  return word;
}

// The constant of a step is by definition the sine's leading bits; a double has enough of them.
uint32_t SineWord(uint32_t step) {
  return static_cast<uint32_t>(std::floor(std::ldexp(std::abs(std::sin(step + 1.0)), 32)));
}

struct Mixed {
  uint32_t bits = 0;
  uint32_t word = 0;  // index in the block
};

// Four rounds of 16 steps.
Mixed MixedAt(uint32_t step, const Words& w) {
  switch (step / 16) {
    case 0:
      return {(w.b & w.c) | (~w.b & w.d), step};
    case 1:
      return {(w.d & w.b) | (~w.d & w.c), (5 * step + 1) % 16};
    case 2:
      return {w.b ^ w.c ^ w.d, (3 * step + 5) % 16};
    default:
      return {w.c ^ (w.b | ~w.d), 7 * step % 16};
  }
}

void AddBlock(const char* block, Words* sum) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  Words w = *sum;
  for (uint32_t step = 0; step < kSteps; ++step) {
    const Mixed mixed = MixedAt(step, w);
    const uint32_t added =
        w.a + mixed.bits + SineWord(step) + LittleEndian(block + size_t{4} * mixed.word);
    const uint32_t b = w.b + RotatedLeft(added, kShifts[step / 16][step % 4]);
    w = {w.d, b, w.b, w.c};
  }
  *sum = {sum->a + w.a, sum->b + w.b, sum->c + w.c, sum->d + w.d};
}

// Appends a one bit, zeros, and the length in bits.
std::string Padded(std::string_view bytes) {
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % kBlockBytes != kBlockBytes - kLengthBytes) padded += '\0';
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < kLengthBytes; ++i) padded += static_cast<char>(bits >> (8 * i));
  return padded;
}

}  // namespace

std::string_view NameInSource(std::string_view linker_name) {
  while (const size_t bytes = SuffixBytes(linker_name)) linker_name.remove_suffix(bytes);
  return linker_name;
}

std::string_view LinkerNameOf(const heap::Function& function) {
  return NameInSource(function.linker_name.empty() ? function.name : function.linker_name);
}

uint64_t FunctionGuid(std::string_view name) {
  const Md5Digest digest = Md5(name);
  uint64_t guid = 0;
  for (size_t i = sizeof guid; i-- > 0;) guid = guid << 8 | digest[i];
  return guid;
}

Md5Digest Md5(std::string_view bytes) {
  const std::string padded = Padded(bytes);
  Words sum;
  for (size_t at = 0; at < padded.size(); at += kBlockBytes) AddBlock(&padded[at], &sum);
  Md5Digest digest = {};
  const uint32_t words[] = {sum.a, sum.b, sum.c, sum.d};
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<uint8_t>(words[i / 4] >> (8 * (i % 4)));
  }
  return digest;
}

}  // namespace allomon::interchange

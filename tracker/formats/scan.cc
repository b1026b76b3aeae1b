#include "tracker/formats/scan.h"

#include <cstdio>
#include <limits>

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

constexpr uint32_t kMaxSize = 0x7fffffff;

std::string_view SkipSpace(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

// -1 if `c` is no hexadecimal digit.
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if ('a' <= c && c <= 'f') return c - 'a' + 10;
  if ('A' <= c && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The prefix counts only when a digit follows it: "0xg" is the number 0.
std::string_view SkipHexPrefix(std::string_view text) {
  for (std::string_view prefix : {"0x", "0X", "0wx", "0wX"}) {
    if (text.size() > prefix.size() && text.substr(0, prefix.size()) == prefix &&
        HexDigit(text[prefix.size()]) >= 0) {
      return text.substr(prefix.size());
    }
  }
  return text;
}

template <typename IsSeparator>
std::vector<std::string_view> Split(std::string_view text, IsSeparator is_separator) {
  std::vector<std::string_view> pieces;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && !is_separator(text[i])) continue;
    if (i > start) pieces.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return pieces;
}

}  // namespace

bool IsSpace(char c) { return c == ' ' || ('\t' <= c && c <= '\r'); }

std::vector<std::string_view> SpaceTokens(std::string_view text) { return Split(text, IsSpace); }

std::vector<std::string_view> Tokens(std::string_view text, char separator) {
  return Split(text, [separator](char c) { return c == separator; });
}

ScanResult ScanInteger(std::string_view text, __int128* value) {
  text = SkipSpace(text);
  bool negative = false;
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == '~')) {
    negative = text[0] != '+';
    text.remove_prefix(1);
  }
  if (text.empty() || !IsDigit(text[0])) return ScanResult::kNone;
  // The sum has its sign, since -2^127 has no positive counterpart.
  __int128 sum = 0;
  for (size_t i = 0; i < text.size() && IsDigit(text[i]); ++i) {
    int digit = negative ? '0' - text[i] : text[i] - '0';
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum)) {
      return ScanResult::kTooBig;
    }
  }
  *value = sum;
  return ScanResult::kOk;
}

ScanResult ScanSize(std::string_view text, uint32_t* value) {
  __int128 wide = 0;
  ScanResult result = ScanInteger(text, &wide);
  if (result != ScanResult::kOk) return result;
  if (wide < 0 || wide > kMaxSize) return ScanResult::kTooBig;
  *value = static_cast<uint32_t>(wide);
  return ScanResult::kOk;
}

ScanResult ScanHexWord(std::string_view text, uint32_t* value) {
  text = SkipHexPrefix(SkipSpace(text));
  if (text.empty() || HexDigit(text[0]) < 0) return ScanResult::kNone;
  uint64_t sum = 0;
  for (size_t i = 0; i < text.size() && HexDigit(text[i]) >= 0; ++i) {
    sum = sum * 16 + static_cast<uint64_t>(HexDigit(text[i]));
    if (sum > std::numeric_limits<uint32_t>::max()) return ScanResult::kTooBig;
  }
  ALLOMON_DCHECK_LE("inv.formats.number", sum, std::numeric_limits<uint32_t>::max());
  *value = static_cast<uint32_t>(sum);
  return ScanResult::kOk;
}

void AppendDecimal(__int128 value, std::string* out) {
  char digits[40];  // 39 digits and a sign hold -2^127
  char* end = digits + sizeof digits;
  char* p = end;
  const bool negative = value < 0;
  do {
    int digit = static_cast<int>(value % 10);
    ALLOMON_DCHECK_LT("inv.formats.room", digits, p);
    *--p = static_cast<char>('0' + (negative ? -digit : digit));
    value /= 10;
  } while (value != 0);
  ALLOMON_DCHECK("inv.formats.room", !negative || digits < p);
  if (negative) *--p = '-';
  out->append(p, static_cast<size_t>(end - p));
}

void AppendHexWord(uint32_t value, std::string* out) {
  char text[11];
  snprintf(text, sizeof text, "0x%08x", value);
  out->append(text);
}

}  // namespace allomon::internal

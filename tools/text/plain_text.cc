#include "tools/text/plain_text.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <optional>

namespace allomon {
namespace {

bool IsControl(char32_t c) { return c < 0x20 || (0x7f <= c && c <= 0x9f); }

bool IsInvisible(char32_t c) {
  return c == 0xad || c == 0x61c || (0x200b <= c && c <= 0x200f) || (0x2028 <= c && c <= 0x202e) ||
         (0x2060 <= c && c <= 0x206f) || c == 0xfeff || (0xfff9 <= c && c <= 0xfffb) ||
         (0xe0000 <= c && c <= 0xe007f);
}

void AppendHex(const char* format, unsigned value, std::string* out) {
  char text[16];
  snprintf(text, sizeof text, format, value);
  out->append(text);
}

// Uses two digits for a byte or a Latin-1 character, and four or more for a code point.
void AppendEscape(char32_t value, std::string* out) {
  AppendHex(value < 0x100 ? "\\x%02x" : "\\u%04x", value, out);
}

bool IsShown(char32_t value, Charset charset) {
  if (IsControl(value) || IsInvisible(value)) return false;
  return value < 0x80 || charset == Charset::kUtf8;
}

}  // namespace

const char* CutMark(Charset charset) { return charset == Charset::kUtf8 ? "\u2026" : "~"; }

std::string Printable(std::string_view text, Charset charset) {
  std::string printable;
  while (!text.empty()) {
    const std::optional<CodePoint> point = FirstCodePoint(text);
    const size_t length = point ? point->length_bytes : 1;
    if (point && IsShown(point->value, charset)) {
      printable.append(text.substr(0, length));
    } else {
      AppendEscape(point ? point->value : static_cast<unsigned char>(text[0]), &printable);
    }
    text.remove_prefix(length);
  }
  return printable;
}

std::string CutToEnd(const std::string& text, int columns, Charset charset) {
  int left = Columns(text);
  if (left <= columns) return text;
  if (columns <= 0) return "";
  std::string_view end = text;
  while (left >= columns) {  // one column is for the mark
    const std::optional<CodePoint> point = FirstCodePoint(end);
    if (!point) return "";  // the text was not printable
    left -= ColumnsOf(point->value);
    end.remove_prefix(point->length_bytes);
  }
  return CutMark(charset) + std::string(end);
}

std::string CutToBeginning(const std::string& text, int columns, Charset charset) {
  if (Columns(text) <= columns) return text;
  if (columns <= 0) return "";
  std::string_view rest = text;
  int left = columns - 1;  // one column is for the mark
  while (const std::optional<CodePoint> point = FirstCodePoint(rest)) {
    left -= ColumnsOf(point->value);
    if (left < 0) break;
    rest.remove_prefix(point->length_bytes);
  }
  return text.substr(0, text.size() - rest.size()) + CutMark(charset);
}

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr Range kCombining[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f}, {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef},
};

constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
    {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

template <size_t kSize>
bool IsIn(const Range (&ranges)[kSize], char32_t value) {
  return std::any_of(std::begin(ranges), std::end(ranges), [value](const Range& range) {
    return range.first <= value && value <= range.last;
  });
}

// Returns the length of a sequence by its first byte; 0 if no sequence begins with that byte.
size_t LengthBytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (0xc2 <= first && first <= 0xdf) return 2;
  if (0xe0 <= first && first <= 0xef) return 3;
  return 0xf0 <= first && first <= 0xf4 ? 4 : 0;
}

bool IsAllowed(const CodePoint& point) {
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = 0xd800 <= point.value && point.value <= 0xdfff;
  return point.value >= kSmallest[point.length_bytes] && !is_surrogate && point.value <= 0x10ffff;
}

}  // namespace

std::optional<CodePoint> FirstCodePoint(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto first = static_cast<unsigned char>(text[0]);
  CodePoint point{first, LengthBytes(first)};
  if (point.length_bytes == 0 || text.size() < point.length_bytes) return std::nullopt;
  if (point.length_bytes > 1) point.value = first & (0x7fu >> point.length_bytes);
  for (size_t i = 1; i < point.length_bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return std::nullopt;
    point.value = point.value << 6 | (byte & 0x3f);
  }
  if (!IsAllowed(point)) return std::nullopt;
  return point;
}

int ColumnsOf(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (IsIn(kCombining, code_point)) return 0;
  return IsIn(kWide, code_point) ? 2 : 1;
}

int Columns(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const auto point = FirstCodePoint(text);
    columns += point ? ColumnsOf(point->value) : 1;
    text.remove_prefix(point ? point->length_bytes : 1);
  }
  return columns;
}

namespace {

void AppendEscaped(char c, std::string* out) {
  if (c == '&') {
    out->append("&amp;");
  } else if (c == '<') {
    out->append("&lt;");
  } else if (c == '>') {
    out->append("&gt;");
  } else if (c == '"') {
    out->append("&quot;");
  } else {
    const bool forbidden = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    out->push_back(forbidden ? '?' : c);
  }
}

}  // namespace

std::string XmlEscaped(std::string_view text) {
  std::string escaped;
  for (char c : text) AppendEscaped(c, &escaped);
  return escaped;
}

}  // namespace allomon

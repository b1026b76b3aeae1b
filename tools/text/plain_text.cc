#include "tools/text/plain_text.h"

#include <cstdio>
#include <optional>

#include "tools/text/utf8.h"

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

}  // namespace allomon

#ifndef ALLOMON_TOOLS_TEXT_UTF8_H_
#define ALLOMON_TOOLS_TEXT_UTF8_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace allomon {

struct CodePoint {
  char32_t value = 0;
  size_t length_bytes = 0;
};

// Returns the first code point of `text`; nullopt if `text` is empty or does not begin with
// well-formed UTF-8 (RFC 3629: shortest forms only, no surrogates, nothing above U+10FFFF).
std::optional<CodePoint> FirstCodePoint(std::string_view text);

// Returns the columns that a terminal gives a character: 2 for East Asian wide ones and emoji, 0
// for combining marks, otherwise 1.  The ranges (Unicode Standard Annex 11) are coarser than the
// standard's table: rare scripts may be off by one.
int ColumnsOf(char32_t code_point);

// Returns the columns of well-formed text.  A byte that is not UTF-8 counts 1.
int Columns(std::string_view text);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_UTF8_H_

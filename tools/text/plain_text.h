#ifndef ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_
#define ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace allomon {

// The characters that the reader's terminal can show.
enum class Charset { kAscii, kUtf8 };

// Returns `text` without anything that could control a terminal instead of being shown, whatever
// its origin.  Control characters (C0, DEL, C1) and bytes that are not UTF-8 become \x1b and so on.
// Marks that are invisible or turn the direction of writing become \u202e and so on (Unicode
// Technical Report 36).  With kAscii all other characters beyond ASCII are escaped too, because in
// another encoding their bytes may be control characters.
std::string Printable(std::string_view text, Charset charset);

// Returns the mark for removed text: one column wide.
const char* CutMark(Charset charset);

// Returns the end of a printable text, in at most `columns` columns, with a mark for the missing
// beginning.  The end of a qualified name or of a path tells it from others.
std::string CutToEnd(const std::string& text, int columns, Charset charset);

// Returns the beginning of a printable text, in the same way, with a mark for the missing end.
std::string CutToBeginning(const std::string& text, int columns, Charset charset);

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

// Returns `text` as the content of an element, or of an attribute between double quotes.  Control
// characters other than newlines and tabs, which XML cannot express, become question marks.
std::string XmlEscaped(std::string_view text);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_PLAIN_TEXT_H_

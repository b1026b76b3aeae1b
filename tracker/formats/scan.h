// The lexical rules of mlprof, shared by the parsers of mlmon.out and of the show-sources answer.
// They are those of Standard ML's basis library: leading white space is skipped, a number ends at
// the first character that does not continue it, and the rest is ignored.  Stricter rules would
// refuse files that mlprof reads, and laxer ones would accept files that it refuses.
//
// All functions are pure, thread safe, throw nothing and read each byte once.
#ifndef ALLOMON_TRACKER_FORMATS_SCAN_H_
#define ALLOMON_TRACKER_FORMATS_SCAN_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allomon::internal {

enum class ScanResult {
  kOk,
  kNone,    // no number at the start of the text
  kTooBig,  // a number that does not fit into the result type
};

// Space, TAB, newline, vertical TAB, form feed, carriage return; no locale.
bool IsSpace(char c);

// The longest pieces of `text` without white space; never an empty piece.  The views point into
// `text`.
std::vector<std::string_view> SpaceTokens(std::string_view text);

// The same, separated by one character.
std::vector<std::string_view> Tokens(std::string_view text, char separator);

// [+~-]?[0-9]+, the tilde being Standard ML's minus sign.
ScanResult ScanInteger(std::string_view text, __int128* value);

// An integer in 0 .. 2^31-1: the length of a vector, or an index into one.  Negative numbers are
// kTooBig.
ScanResult ScanSize(std::string_view text, uint32_t* value);

// (0x|0X|0wx|0wX)?[0-9a-fA-F]+: decimal digits are read as hexadecimal ones.
ScanResult ScanHexWord(std::string_view text, uint32_t* value);

void AppendDecimal(__int128 value, std::string* out);

// `0x` and exactly eight lower-case digits.
void AppendHexWord(uint32_t value, std::string* out);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_FORMATS_SCAN_H_

// Notations of other programs: numbers of mlprof, names in collapsed text, hexadecimal numbers.
#ifndef ALLOMON_TOOLS_TEXT_NUMBERS_H_
#define ALLOMON_TOOLS_TEXT_NUMBERS_H_

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace allomon::mlprof {

// Prints and reads numbers as mlprof, a Standard ML program, does: the minus sign is a tilde, in
// every locale.

// FormatFixed(-2.25, 1) is "~2.2".  Digits beyond those asked for are rounded, exact halves to
// even.
std::string FormatFixed(double value, int digits);

// FormatCommas(1234567) is "1,234,567".
std::string FormatCommas(__int128 value);

// Reads a real number from the start of `text`: blanks, a sign (+, -, ~), then `inf`, `nan`, or
// digits with an optional fraction and exponent.  Ignores the rest of `text`.  False if `text` does
// not begin with a number.
bool ScanReal(std::string_view text, double* value);

}  // namespace allomon::mlprof

namespace allomon::interchange {

// ---- Escapes names for collapsed text, in which a semicolon ends a frame and a newline the stack.

// Replaces semicolons, control characters and backslashes by \x3b and so on.
std::string EscapedFrame(std::string_view name);

// Returns the name that EscapedFrame() was given.  Returns any other text unchanged.
std::string UnescapedFrame(std::string_view text);

// Returns the number in lower case, without a prefix.
inline std::string Hexadecimal(uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "%" PRIx64, value);
  return text;
}

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_TEXT_NUMBERS_H_

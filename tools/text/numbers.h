#ifndef ALLOMON_TOOLS_TEXT_NUMBERS_H_
#define ALLOMON_TOOLS_TEXT_NUMBERS_H_

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

#endif  // ALLOMON_TOOLS_TEXT_NUMBERS_H_

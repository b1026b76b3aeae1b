#include "tools/text/numbers.h"

#include <strings.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "tracker/formats/scan.h"

namespace allomon::mlprof {
namespace {

bool StartsWithIgnoringCase(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && strncasecmp(text.data(), word.data(), word.size()) == 0;
}

// Moves the digits at the start of `text` to `out`.  False if `text` does not begin with a digit.
bool TakeDigits(std::string_view* text, std::string* out) {
  const size_t before = text->size();
  while (!text->empty() && '0' <= text->front() && text->front() <= '9') {
    out->push_back(text->front());
    text->remove_prefix(1);
  }
  return text->size() < before;
}

bool TakeSign(std::string_view* text) {
  if (text->empty()) return false;
  const char c = text->front();
  if (c == '+' || c == '-' || c == '~') text->remove_prefix(1);
  return c == '-' || c == '~';
}

// Appends the exponent to `out` if `text` begins with an `e` and digits.
void TakeExponent(std::string_view text, std::string* out) {
  if (!StartsWithIgnoringCase(text, "e")) return;
  text.remove_prefix(1);
  std::string exponent = TakeSign(&text) ? "e-" : "e";
  if (TakeDigits(&text, &exponent)) out->append(exponent);
}

// Returns the number in C's notation; empty if `text` contains no number.
std::string CNumber(std::string_view text) {
  std::string number = "0";
  const bool whole = TakeDigits(&text, &number);
  std::string fraction = ".";
  std::string_view after_point = text;
  bool has_fraction = false;
  if (!text.empty() && text.front() == '.') {
    after_point.remove_prefix(1);
    has_fraction = TakeDigits(&after_point, &fraction);
  }
  if (!whole && !has_fraction) return "";
  if (has_fraction) number += fraction;
  TakeExponent(has_fraction ? after_point : text, &number);
  return number;
}

}  // namespace

std::string FormatFixed(double value, int digits) {
  char text[400];  // the largest double has 309 digits before the point
  int length = snprintf(text, sizeof text, "%.*f", digits, std::fabs(value));
  return (value < 0 ? "~" : "") + std::string(text, length);
}

std::string FormatCommas(__int128 value) {
  std::string digits;
  internal::AppendDecimal(value, &digits);
  std::string out;
  if (digits[0] == '-') {
    out = "~";
    digits.erase(0, 1);
  }
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out.push_back(',');
    out.push_back(digits[i]);
  }
  return out;
}

bool ScanReal(std::string_view text, double* value) {
  while (!text.empty() && internal::IsSpace(text.front())) {
    text.remove_prefix(1);
  }
  const bool negative = TakeSign(&text);
  if (StartsWithIgnoringCase(text, "inf")) {
    *value = std::numeric_limits<double>::infinity();
  } else if (StartsWithIgnoringCase(text, "nan")) {
    *value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const std::string number = CNumber(text);
    if (number.empty()) return false;
    *value = strtod(number.c_str(), nullptr);
  }
  if (negative) *value = -*value;
  return true;
}

}  // namespace allomon::mlprof

namespace allomon::interchange {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

bool IsSpecial(unsigned char c) { return c == ';' || c == '\\' || c < ' ' || c == 0x7f; }

// Returns the value of a digit; 16 or more if the character is not a digit.
size_t Digit(char c) { return std::string_view(kDigits).find(c); }

}  // namespace

std::string EscapedFrame(std::string_view name) {
  std::string text;
  text.reserve(name.size());
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsSpecial(byte)) {
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      text += c;
    }
  }
  return text;
}

std::string UnescapedFrame(std::string_view text) {
  std::string name;
  name.reserve(text.size());
  while (!text.empty()) {
    if (text.size() >= 4 && text[0] == '\\' && text[1] == 'x') {
      const size_t high = Digit(text[2]);
      const size_t low = Digit(text[3]);
      if (high < 16 && low < 16 && IsSpecial(static_cast<unsigned char>(high << 4 | low))) {
        name += static_cast<char>(high << 4 | low);
        text.remove_prefix(4);
        continue;
      }
    }
    name += text[0];
    text.remove_prefix(1);
  }
  return name;
}

}  // namespace allomon::interchange

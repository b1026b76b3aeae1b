#include "tools/text/notation.h"

#include <cstddef>

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

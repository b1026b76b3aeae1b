// Helpers for texts of headers, which are ASCII.
#ifndef ALLOMON_TOOLS_SERVE_HEADER_TEXT_H_
#define ALLOMON_TOOLS_SERVE_HEADER_TEXT_H_

#include <algorithm>
#include <string_view>

namespace allomon::serve {

inline char LowerCase(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

inline bool EqualsInAnyCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

// Returns the text without blanks and line ends around it.
inline std::string_view Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_HEADER_TEXT_H_

#ifndef ALLOMON_TOOLS_TEXT_SHELL_WORD_H_
#define ALLOMON_TOOLS_TEXT_SHELL_WORD_H_

#include <algorithm>
#include <string>
#include <string_view>

namespace allomon {

// Returns `text` as one word of a POSIX shell: as it is, or in single quotes.
inline std::string ShellWord(const std::string& text) {
  constexpr std::string_view kPlain = "_-+./,:=@%";
  const bool is_plain = std::all_of(text.begin(), text.end(), [kPlain](char c) {
    return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
           kPlain.find(c) != std::string_view::npos;
  });
  if (is_plain && !text.empty()) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace allomon

#endif  // ALLOMON_TOOLS_TEXT_SHELL_WORD_H_

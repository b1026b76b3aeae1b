// Notations of other formats: names in collapsed text, hexadecimal numbers.
#ifndef ALLOMON_TOOLS_TEXT_NOTATION_H_
#define ALLOMON_TOOLS_TEXT_NOTATION_H_

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace allomon::interchange {

// ---- Escapes names for collapsed text, in which a semicolon ends a frame and a newline the stack.

// Replaces semicolons, control characters and backslashes by \x3b and so on.
std::string EscapedFrame(std::string_view name);

// Returns the name that EscapedFrame() was given.  Returns any other text unchanged.
std::string UnescapedFrame(std::string_view text);

// In lower case, without a prefix.
inline std::string Hexadecimal(uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "%" PRIx64, value);
  return text;
}

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_TEXT_NOTATION_H_

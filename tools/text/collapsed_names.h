// Escapes names for collapsed text, in which a semicolon ends a frame and a newline the stack.
#ifndef ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_
#define ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_

#include <string>
#include <string_view>

namespace allomon::interchange {

// Replaces semicolons, control characters and backslashes by \x3b and so on.
std::string EscapedFrame(std::string_view name);

// Returns the name that EscapedFrame() was given.  Returns any other text unchanged.
std::string UnescapedFrame(std::string_view text);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_

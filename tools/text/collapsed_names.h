// Names in collapsed text, where a semicolon ends a frame and a newline the stack.
#ifndef ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_
#define ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_

#include <string>
#include <string_view>

namespace allomon::interchange {

// Semicolons, control characters and backslashes become \x3b and so on.
std::string EscapedFrame(std::string_view name);

// The name that EscapedFrame() was given.  Any other text stays as it is.
std::string UnescapedFrame(std::string_view text);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_TEXT_COLLAPSED_NAMES_H_

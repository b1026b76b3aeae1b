// Makes names fit formats with one line for each name.
#ifndef ALLOMON_TOOLS_EXPORT_ONE_LINE_H_
#define ALLOMON_TOOLS_EXPORT_ONE_LINE_H_

#include <string>
#include <string_view>

namespace allomon::interchange {

// Replaces control characters by blanks, and removes blanks at the ends.  Returns "(unnamed)" if
// nothing is left.
std::string OneLine(std::string_view name);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_ONE_LINE_H_

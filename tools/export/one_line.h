// Names in formats that have a line for each.
#ifndef ALLOMON_TOOLS_EXPORT_ONE_LINE_H_
#define ALLOMON_TOOLS_EXPORT_ONE_LINE_H_

#include <string>
#include <string_view>

namespace allomon::interchange {

// Control characters become blanks; blanks at the ends go.  "(unnamed)" if nothing is left.
std::string OneLine(std::string_view name);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_ONE_LINE_H_

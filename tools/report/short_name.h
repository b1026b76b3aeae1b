#ifndef ALLOMON_TOOLS_REPORT_SHORT_NAME_H_
#define ALLOMON_TOOLS_REPORT_SHORT_NAME_H_

#include <string>

namespace allomon::report {

// Shortens a C++ function's name to fit a line: the return type is dropped, template arguments
// become `<...>` and parameters `(...)`.  A name of at most 60 bytes, and one whose brackets do not
// pair, stays as it is.
std::string ShortName(const std::string& name);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_SHORT_NAME_H_

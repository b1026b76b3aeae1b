#ifndef ALLOMON_TOOLS_REPORT_SHORT_NAME_H_
#define ALLOMON_TOOLS_REPORT_SHORT_NAME_H_

#include <string>

namespace allomon::report {

// A C++ function's name as people say it, where the whole of it would not fit a line: without
// what it returns, and with `<...>` and `(...)` for template arguments and parameters.  A name of
// at most 60 bytes, and one whose brackets do not pair, stays as it is.
std::string ShortName(const std::string& name);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_SHORT_NAME_H_

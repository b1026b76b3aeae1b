#ifndef ALLOMON_TOOLS_TEXT_SHORT_NAME_H_
#define ALLOMON_TOOLS_TEXT_SHORT_NAME_H_

#include <string>
#include <vector>

namespace allomon::report {

// Shortens a C++ function's name to fit a line: drops the return type, and replaces template
// arguments by `<...>` and parameters by `(...)`.  For Rust's `<T as Trait>::f`, T and Trait stay,
// shortened in the same way.  A name of at most 60 bytes, and one whose brackets do not pair, stays
// unchanged.
std::string ShortName(const std::string& name);

// Shortens the names of one table.  Different names stay different: if ShortName() makes them
// equal, the arguments in which they differ stay, as in `f<..., int>(...)`.
std::vector<std::string> ShortNames(const std::vector<std::string>& names);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_SHORT_NAME_H_

#ifndef ALLOMON_TOOLS_TEXT_SHORT_NAME_H_
#define ALLOMON_TOOLS_TEXT_SHORT_NAME_H_

#include <string>
#include <vector>

namespace allomon::report {

// Shortens a C++ function's name to fit a line: the return type is dropped, template arguments
// become `<...>` and parameters `(...)`.  Of Rust's `<T as Trait>::f` T and Trait stay, shortened
// likewise.  A name of at most 60 bytes, and one whose brackets do not pair, stays as it is.
std::string ShortName(const std::string& name);

// Shortens the names of one table.  Different names stay different: where ShortName() makes them
// the same text, the arguments in which they differ stay, as in `f<..., int>(...)`.
std::vector<std::string> ShortNames(const std::vector<std::string>& names);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_SHORT_NAME_H_

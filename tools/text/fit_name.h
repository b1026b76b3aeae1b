// Shortens a function's name to the available columns.
#ifndef ALLOMON_TOOLS_TEXT_FIT_NAME_H_
#define ALLOMON_TOOLS_TEXT_FIT_NAME_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

// Returns the part of a C++ name that identifies the function: "std::vector::emplace_back" for
// "void std::vector<int>::emplace_back<int>(int&&) const".  Drops template arguments, parameters,
// the return type, and anonymous namespaces.  Empty if the brackets do not pair, or if the name has
// another form, as in other languages.
std::string QualifiedName(const std::string& name);

// Returns the part of a name that a person needs: "vector::emplace_back", class and function.  For
// a lambda, includes the function that contains it.  If QualifiedName() is empty, returns the name
// itself.
std::string ClassAndFunction(const std::string& name);

// Returns a printable name in at most `columns` columns.  It is the first of these that fits: the
// whole name, its qualified name, or that with a mark in place of the outer namespaces.  If class
// and function do not fit, it is their end; if the function alone does not fit, it is the
// function's beginning.
std::string FitName(const std::string& name, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_FIT_NAME_H_

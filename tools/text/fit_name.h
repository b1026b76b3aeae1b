// What is left of a function's name where room lacks.
#ifndef ALLOMON_TOOLS_TEXT_FIT_NAME_H_
#define ALLOMON_TOOLS_TEXT_FIT_NAME_H_

#include <string>

#include "tools/text/plain_text.h"

namespace allomon::report {

// Of a C++ name, what names the function: "std::vector::emplace_back" of
// "void std::vector<int>::emplace_back<int>(int&&) const".  Without template arguments, parameters,
// what is returned, and anonymous namespaces.  Empty if the brackets do not pair, or the name is
// built otherwise, as those of other languages may be.
std::string QualifiedName(const std::string& name);

// What a person needs of a name: "vector::emplace_back", class and function.  Of a lambda, the
// function that it is in, too.  The name itself where QualifiedName() is empty.
std::string ClassAndFunction(const std::string& name);

// A printable name in at most `columns` columns: all of it, its qualified name, or that without the
// outer namespaces, which a mark stands for.  If class and function do not fit, their end; if the
// function does not fit either, its beginning.
std::string FitName(const std::string& name, int columns, Charset charset);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_FIT_NAME_H_

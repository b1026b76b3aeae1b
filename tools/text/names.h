// Names of functions for people, in the columns that there are; names of Rust taken apart.
#ifndef ALLOMON_TOOLS_TEXT_NAMES_H_
#define ALLOMON_TOOLS_TEXT_NAMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/text/plain_text.h"

namespace allomon::report {

// ---- Shortens a function's name to the available columns.

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

// Shortens a C++ function's name to fit a line: drops the return type, and replaces template
// arguments by `<...>` and parameters by `(...)`.  For Rust's `<T as Trait>::f`, T and Trait stay,
// shortened in the same way.  A name of at most 60 bytes, and one whose brackets do not pair, stays
// unchanged.
std::string ShortName(const std::string& name);

// Shortens the names of one table.  Different names stay different: if ShortName() makes them
// equal, the arguments in which they differ stay, as in `f<..., int>(...)`.
std::vector<std::string> ShortNames(const std::vector<std::string>& names);

// ---- Parses names of Rust that begin with a type.

// `<type as trait>rest`, or `<type>rest` without a trait; `rest` begins with "::".
struct RustName {
  std::string_view type;
  std::string_view trait;
  std::string_view rest;
};

// Returns nullopt for a name of another form.  The parts are views of `name`.
std::optional<RustName> ParseRustName(std::string_view name);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_NAMES_H_

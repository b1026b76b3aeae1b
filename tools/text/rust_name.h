// Parses names of Rust that begin with a type.
#ifndef ALLOMON_TOOLS_TEXT_RUST_NAME_H_
#define ALLOMON_TOOLS_TEXT_RUST_NAME_H_

#include <optional>
#include <string_view>

namespace allomon::report {

// `<type as trait>rest`, or `<type>rest` without a trait; `rest` begins with "::".
struct RustName {
  std::string_view type;
  std::string_view trait;
  std::string_view rest;
};

// Returns nullopt for a name of another form.  The parts are views of `name`.
std::optional<RustName> ParseRustName(std::string_view name);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_TEXT_RUST_NAME_H_

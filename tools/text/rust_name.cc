#include <cstddef>

#include "tools/text/names.h"

namespace allomon::report {

std::optional<RustName> ParseRustName(std::string_view name) {
  constexpr std::string_view kAs = " as ";
  if (name.empty() || name[0] != '<') return std::nullopt;
  size_t end = 1;
  size_t as = 0;
  for (int depth = 1; end < name.size() && depth > 0; ++end) {
    if (name[end] == '<') ++depth;
    if (name[end] == '>' && name[end - 1] != '-') --depth;  // skips the arrow of `fn() -> T`
    if (depth == 1 && as == 0 && name.substr(end, kAs.size()) == kAs) as = end;
  }
  if (name[end - 1] != '>' || name.substr(end, 2) != "::") return std::nullopt;
  RustName parts = {name.substr(1, end - 2), {}, name.substr(end)};
  if (as != 0) {
    parts.type = name.substr(1, as - 1);
    parts.trait = name.substr(as + kAs.size(), end - 1 - as - kAs.size());
  }
  return parts;
}

}  // namespace allomon::report

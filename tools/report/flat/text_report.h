// Writes reports as text for a terminal.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_TEXT_REPORT_H_
#define ALLOMON_TOOLS_REPORT_FLAT_TEXT_REPORT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/flat/functions.h"

namespace allomon::report {

struct TextStyle {
  size_t rows = 0;           // the most rows shown; 0: all
  int width = 0;             // columns; 0: as many as needed
  bool whole_names = false;  // true: names are not shortened
  bool colored = false;
  Charset charset = Charset::kUtf8;
};

std::string ToText(const Profile& profile, const std::vector<Function>& functions, SortKey key,
                   const TextStyle& style);

std::string ToText(const Pair& pair, const std::vector<Change>& changes, SortKey key,
                   const TextStyle& style);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_TEXT_REPORT_H_

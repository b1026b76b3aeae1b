// Writes a report for people.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_TEXT_OUTPUT_H_
#define ALLOMON_TOOLS_REPORT_TABLE_TEXT_OUTPUT_H_

#include <string>

#include "tools/report/table/table.h"

namespace allomon::views {

struct TextStyle {
  int width = 0;             // columns; 0: as many as needed
  bool whole_names = false;  // true if names are not shortened
  bool colored = false;
  Charset charset = Charset::kUtf8;
};

std::string ToText(const Report& report, const TextStyle& style);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_TEXT_OUTPUT_H_

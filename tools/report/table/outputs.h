// Writers of a report: text, JSON and CSV.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_OUTPUTS_H_
#define ALLOMON_TOOLS_REPORT_TABLE_OUTPUTS_H_

#include <cstddef>
#include <string>

#include "tools/report/table/table.h"

namespace allomon::views {

// ---- Writes a report for programs.

// Returns one object: the facts, "next", "notes", and for each table an array of objects, by the
// table's key.  Bytes that are not UTF-8 become U+FFFD.
//
// The object has at most `most_bytes` (0: any number; kLeastJsonBytes at least).  Rows at the ends
// of tables are left out for that, then notes, then the ends of texts; "left_out" has their numbers
// by key.
inline constexpr size_t kLeastJsonBytes = 16384;
std::string ToJson(const Report& report, size_t most_bytes = 0);

// Returns the tables, with heads, by RFC 4180, with an empty line between two.  Characters that
// could control a terminal are spelled out, as in the report for people.
std::string ToCsv(const Report& report);

// ---- Writes a report for people.

struct TextStyle {
  int width = 0;             // columns; 0: as many as needed
  bool whole_names = false;  // true if names are not shortened
  bool colored = false;
  Charset charset = Charset::kUtf8;
};

std::string ToText(const Report& report, const TextStyle& style);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_OUTPUTS_H_

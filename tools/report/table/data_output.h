// A report for programs.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_
#define ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_

#include <string>

#include "tools/report/table/table.h"

namespace allomon::views {

// One object: the facts, "notes", and an array of objects for each table, by its key.  Bytes that
// are not UTF-8 become U+FFFD.
std::string ToJson(const Report& report);

// The tables, with heads, by RFC 4180; an empty line between two.  What could act on a terminal is
// spelled out, as in the report for people.
std::string ToCsv(const Report& report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_

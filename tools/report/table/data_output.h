// Writes a report for programs.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_
#define ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_

#include <string>

#include "tools/report/table/table.h"

namespace allomon::views {

// Returns one object: the facts, "notes", and for each table an array of objects, by the table's
// key.  Bytes that are not UTF-8 become U+FFFD.
std::string ToJson(const Report& report);

// Returns the tables, with heads, by RFC 4180, with an empty line between two.  Characters that
// could control a terminal are spelled out, as in the report for people.
std::string ToCsv(const Report& report);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_DATA_OUTPUT_H_

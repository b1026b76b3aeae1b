// The report of an mlmon.out, as text, JSON and CSV.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_REPORTS_H_
#define ALLOMON_TOOLS_REPORT_FLAT_REPORTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tools/report/flat/functions.h"

namespace allomon::report {

// ---- Writes reports for programs.

// Numbers are exact, in the profile's units, and may have up to 39 digits.  U+FFFD replaces text
// that is not UTF-8.  Characters that are not ASCII are escaped, so that any terminal can show the
// result.  Where `most_bytes` asks for less than there is, rows are left out from the end, then
// notes, then ends of texts; "left_out" has their numbers.
struct Bounds {
  size_t rows = 0;        // the most functions shown; 0: all
  size_t most_bytes = 0;  // of the text, 16 KiB at least; 0: any number
};
std::string ToJson(const Profile& profile, const std::vector<Function>& functions,
                   const Bounds& bounds);
std::string ToJson(const Pair& pair, const std::vector<Change>& changes, const Bounds& bounds);

// Writes comma-separated values with a head (RFC 4180, but lines end as on this system).  Control
// characters in names become \x1b and so on.  Shows at most `rows` functions; 0: all.
std::string ToCsv(const Profile& profile, const std::vector<Function>& functions, size_t rows);
std::string ToCsv(const Pair& pair, const std::vector<Change>& changes, size_t rows);

// ---- Writes reports as text for a terminal.

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

#endif  // ALLOMON_TOOLS_REPORT_FLAT_REPORTS_H_

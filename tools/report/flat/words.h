// Phrases that text and picture share.  They may not be printable, because they contain names and
// paths unchanged.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_WORDS_H_
#define ALLOMON_TOOLS_REPORT_FLAT_WORDS_H_

#include <string>

#include "tools/report/flat/functions.h"

namespace allomon::report {

// Returns "mlmon.out", or "mlmon.1.out and 2 more profiles".
std::string FilesText(const Profile& profile);

// Returns "mlmon.out: 81.1 MiB allocated (85,059,321 bytes)".
std::string SummaryText(const Profile& profile);

// Returns "functions by server, found beside the profile".
std::string ProgramText(const Profile& profile);

// Returns "note: server is not there any more: ...".
std::string NoteText(const std::string& note);

// Returns "file.cc:12", as compilers write it and editors open it, for MLton's "file.cc: 12".
std::string PlaceText(const SourceName& name);

// Returns "+12.3%"; from ten times on "x12.3"; "new"; "gone".
std::string GrowthText(const Change& change, SortKey key);

// Returns words for the count that `key` names: "itself", "with what it called", "by the
// collector".
const char* MeasureText(SortKey key);

// Returns "123 more functions", "1 more function".
std::string MoreText(size_t count);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_WORDS_H_

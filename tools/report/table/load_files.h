// Loads the files of a command.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_
#define ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/symbols/name_sources.h"
#include "tools/text/terminal.h"

namespace allomon::views {

// The kind of a file, by its first bytes.
enum class FileKind { kHeapProfile, kMlmon, kOther };
FileKind KindOf(const std::string& path);

// Returns the sum of the files, which must be of one program.  Fails with one line, which names the
// file.
absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const NameSources& name_sources,
                                          report::Progress* progress);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_

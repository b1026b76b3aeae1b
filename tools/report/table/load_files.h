// The files of a command, read.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_
#define ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/text/terminal.h"

namespace allomon::views {

// What a file is, by its first bytes.
enum class FileKind { kHeapProfile, kMlmon, kOther };
FileKind KindOf(const std::string& path);

// The sum of the files, which are of one program.  Fails with one line, which names the file.
absl::StatusOr<heap::HeapProfile> LoadSum(const std::vector<std::string>& files,
                                          const std::string& debug_dir, report::Progress* progress);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_LOAD_FILES_H_

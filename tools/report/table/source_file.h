// Reads source files that a profile names.
#ifndef ALLOMON_TOOLS_REPORT_TABLE_SOURCE_FILE_H_
#define ALLOMON_TOOLS_REPORT_TABLE_SOURCE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace allomon::views {

struct SourceFile {
  std::string path;                // the path where it was found
  std::vector<std::string> lines;  // the first element is line 1
};

// Looks for `path` itself, then for its ends, the longest first, below the current folder.  Reads
// only regular files of at most 16 MiB, because a profile may name any file.
absl::StatusOr<SourceFile> FindSource(const std::string& path);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_TABLE_SOURCE_FILE_H_

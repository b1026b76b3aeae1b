// Finds the file that code of a recording came from, as it was when it ran.
#ifndef ALLOMON_TOOLS_RECORDING_FIND_CODE_H_
#define ALLOMON_TOOLS_RECORDING_FIND_CODE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/symbols/code_file.h"

namespace allomon::recording {

struct CodeIdentity {
  std::string path;
  std::string build_id;      // in lower-case hexadecimal; empty: it has none
  uint64_t start_nanos = 0;  // when its process started, since 1970
};

struct FoundCode {
  std::unique_ptr<CodeFile> file;  // nullptr: not found
  std::string note;                // then: a line that says why
};

// By the path if the build id is the same; else, by the build id, below `debug_folder` and
// /usr/lib/debug.  Code without a build id is the same if its file is older than the process.
FoundCode FindCode(const CodeIdentity& code, const std::string& debug_folder);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_RECORDING_FIND_CODE_H_

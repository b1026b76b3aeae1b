// Finds the file that code of a recording came from, as it was when it ran.
#ifndef ALLOMON_TOOLS_LOAD_RECORDING_FIND_CODE_H_
#define ALLOMON_TOOLS_LOAD_RECORDING_FIND_CODE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tools/symbols/code_file.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

struct CodeIdentity {
  std::string path;
  std::string build_id;  // in lower-case hexadecimal; empty: it has none, and is known by its file
  FileKnown file_known = FileKnown::kNothing;
  FileIdentity file = {};    // that was mapped, if it is known
  uint64_t start_nanos = 0;  // when its process started, since 1970
};

// Of a module of the process that has begun at `start_nanos`.
CodeIdentity IdentityOf(const Module& module, const std::string& path, uint64_t start_nanos);

// An order in which equal code is the same, whenever its processes started.
bool operator<(const CodeIdentity& a, const CodeIdentity& b);

struct FoundCode {
  std::unique_ptr<CodeFile> file;  // nullptr: not found
  std::string note;                // then: a line that says why
};

// By the path if the build id is the same; else, by the build id, below `debug_folder` and
// /usr/lib/debug.  Code without a build id is the same if device, inode, size and time of change
// are those of the file that was mapped.  Where the recording does not know them, the file must not
// have changed since the process began.
FoundCode FindCode(const CodeIdentity& code, const std::string& debug_folder);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_FIND_CODE_H_

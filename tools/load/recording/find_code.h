// Finds the file that the code of a recording came from, unchanged since the recording.
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
  std::string build_id;  // in lower-case hexadecimal; empty: the code is identified by its file
  FileState file_known = FileState::kUnknown;
  FileIdentity file = {};    // the mapped file, if it is known
  uint64_t start_nanos = 0;  // start of the process, since 1970
  // A process that runs and has it mapped, perhaps under another path than it has here; 0: not
  // known.
  uint32_t mapped_by = 0;
  uint64_t mapped_at = 0;
  bool is_program = false;  // the executable of a process
};

// Identifies the code of a module in a process that started at `start_nanos`.
CodeIdentity IdentityOf(const Module& module, const std::string& path, uint64_t start_nanos);

// An order by path, build id and file alone: the same code in two processes is equal.
bool operator<(const CodeIdentity& a, const CodeIdentity& b);

// Returns the key that the code has in packs of symbols; empty if nothing identifies it.
std::string PackKeyOf(const CodeIdentity& code);

struct FoundCode {
  std::unique_ptr<CodeFile> file;  // nullptr if it was not found
  std::string note;                // then a line that says why
};

// Tries the path first, and accepts the file if the build id is the same.  Else tries the paths of
// a process that has it mapped, as in a container.  Else searches for the build id below
// `debug_folder`, /usr/lib/debug and DebugCacheFolder().  Code without a build id is the same if
// device, inode, size and time of change are those of the mapped file.  If the recording does not
// have them, the file must not have changed since the process began.
FoundCode FindCode(const CodeIdentity& code, const std::string& debug_folder);

}  // namespace allomon::recording

#endif  // ALLOMON_TOOLS_LOAD_RECORDING_FIND_CODE_H_

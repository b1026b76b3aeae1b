// Where the library that `allomon run` preloads is.
#ifndef ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_
#define ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace allomon::run {

// A name of liballomon.so, or of liballomon-host.so with which the program keeps its malloc, for
// LD_PRELOAD: of what ALLOMON_LIBRARY names, or else of what belongs to
// the command at `command_path`, installed or in Bazel's tree.  It is a path under /proc, good
// until this process ends, where the loader would not take the real path whole.  An error is one
// line with the remedy.
absl::StatusOr<std::string> FindLibrary(const std::string& command_path, bool keeps_malloc);

// The path of the command that runs; empty without /proc.
std::string ThisCommand();

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

// Finds the library that `allomon run` preloads.
#ifndef ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_
#define ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace allomon::run {

// Returns a value for LD_PRELOAD: the path of liballomon.so, or of liballomon-host.so with which
// the program keeps its malloc.  ALLOMON_LIBRARY may name the library.  Otherwise it is the one
// that belongs to the command at `command_path`, installed or in Bazel's tree.  If the loader would
// not take the real path as a whole, it is a path under /proc, valid until this process ends.  An
// error is one line with the remedy.
absl::StatusOr<std::string> FindLibrary(const std::string& command_path, bool keeps_malloc);

// Returns the path of the running command; empty without /proc.
std::string ThisCommand();

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

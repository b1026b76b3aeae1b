// Where the library that `allomon run` preloads is.
#ifndef ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_
#define ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"

namespace allomon::run {

// The path of liballomon.so: what ALLOMON_LIBRARY names, or else what belongs to the command at
// `command_path`, installed or in Bazel's tree.  An error is one line with the remedy.  A path that
// LD_PRELOAD cannot hold is one: the loader takes spaces and colons for the end of it.
absl::StatusOr<std::string> FindLibrary(const std::string& command_path);

// The path of the command that runs; empty without /proc.
std::string ThisCommand();

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_FIND_LIBRARY_H_

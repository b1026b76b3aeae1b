// The files that `allomon run` writes at its end.
#ifndef ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_
#define ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::run {

// Returns "allomon.PROGRAM.PID.pb.gz".
std::string DefaultOutput(const std::string& program, pid_t pid);

// Returns the path of another program's file: "out.NAME.pb.gz" for "out.pb.gz".
std::string OutputBeside(const std::string& path, const std::string& name);

// Checks if a file could be written at `path` now.  Callers ask before the program runs for hours.
// An error is one line with the remedy.
absl::Status CheckOutput(const std::string& path);

// True if other files may be put beside it: false for a device or a pipe.
bool HasRoomBeside(const std::string& path);

// Writes the file.  If that fails, writes a new one of the same name, with a number if there is one
// already, in $TMPDIR, $HOME, /tmp, /var/tmp or /dev/shm, because a recording cannot be repeated.
// `path` becomes the path written.  `error` is empty, or a line that says why it is another path.
// False if no place could be written.
bool SaveFile(std::string_view contents, std::string* path, std::string* error);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_

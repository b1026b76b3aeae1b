// The files that `allomon run` writes at its end.
#ifndef ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_
#define ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::run {

// "allomon.PROGRAM.PID.pb.gz".
std::string DefaultOutput(const std::string& program, pid_t pid);

// "out.NAME.pb.gz" for "out.pb.gz": another program's file.
std::string OutputBeside(const std::string& path, const std::string& name);

// Whether a file could be written there now, to be asked before the program runs for hours.  An
// error is one line with the remedy.
absl::Status CheckOutput(const std::string& path);

// Whether other files may be put beside it: not beside a device or a pipe.
bool HasRoomBeside(const std::string& path);

// Writes the file, or else one of the same name in $TMPDIR, $HOME, /tmp, /var/tmp or /dev/shm: a
// recording cannot be made again.  `path` becomes what was written; `error` is empty, or a line
// that says why it is not what was asked for.  False if there is no place at all.
bool SaveFile(std::string_view contents, std::string* path, std::string* error);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_OUTPUT_FILE_H_

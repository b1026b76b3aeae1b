#ifndef ALLOMON_TOOLS_MLMON_READ_FILE_H_
#define ALLOMON_TOOLS_MLMON_READ_FILE_H_

#include <string>

namespace allomon::mlprof {

// Reads the whole file, which may be a pipe.  On failure returns false and sets `error` to Standard
// ML's words, for example
//   Io: openIn "x" failed with SysErr: No such file or directory [noent]
bool ReadFile(const std::string& path, std::string* contents, std::string* error);

// A failure: Standard ML's name of the operation, and errno.
struct ReadFailure {
  const char* operation = "";
  int error = 0;
};

// Does the same for callers with messages of their own.
bool ReadFile(const std::string& path, std::string* contents, ReadFailure* failure);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLMON_READ_FILE_H_

#ifndef ALLOMON_TOOLS_MLMON_LOAD_PROFILE_H_
#define ALLOMON_TOOLS_MLMON_LOAD_PROFILE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/mlmon/program.h"
#include "tracker/formats/mlmon.h"

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

// Adds up the files.  `data` has no value if there are no files.  A file that cannot be read,
// parsed or merged is an error.  If `tolerant`, it is left out instead, and a line is added to
// `warnings`.  The sum must have a count for each source and each name of `program`.  Otherwise the
// call fails even if `tolerant`, as mlprof does, which crashes.
bool LoadProfile(const Program& program, const std::vector<std::string>& files, bool tolerant,
                 std::optional<Mlmon>* data, std::string* warnings, std::string* error);

// True if `sum` has as many counts as LoadProfile asks for.  It is for callers that have added up
// profiles themselves.
bool CheckLengths(const Program& program, const Mlmon& sum, std::string* error);

// Reads names from the files `lists`, separated by white space.  The names of the last list come
// first.
bool LoadFileLists(const std::vector<std::string>& lists, std::vector<std::string>* files,
                   std::string* error);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLMON_LOAD_PROFILE_H_

#ifndef ALLOMON_TOOLS_MLPROF_LOAD_PROFILE_H_
#define ALLOMON_TOOLS_MLPROF_LOAD_PROFILE_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/mlprof/program.h"
#include "tracker/formats/mlmon.h"

namespace allomon::mlprof {

// Adds up the files.  `data` is nothing if there is none.  A file that cannot
// be read, parsed or merged is an error, or, if `tolerant`, adds a line to
// `warnings` and is left out.  The sum must have a count for each source and
// name of `program`; that it has not is an error in any case, as it is in
// mlprof (which crashes).
bool LoadProfile(const Program& program, const std::vector<std::string>& files, bool tolerant,
                 std::optional<Mlmon>* data, std::string* warnings, std::string* error);

// Whether `sum` has as many counts as LoadProfile asks for: for those who have added up
// profiles themselves.
bool CheckLengths(const Program& program, const Mlmon& sum, std::string* error);

// The names in the files `lists`, separated by white space, those of the last
// list first.
bool LoadFileLists(const std::vector<std::string>& lists, std::vector<std::string>* files,
                   std::string* error);

}  // namespace allomon::mlprof

#endif  // ALLOMON_TOOLS_MLPROF_LOAD_PROFILE_H_

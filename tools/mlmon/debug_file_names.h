// Names and lines of functions from debug files, for profiles that have the addresses of their
// code.
#ifndef ALLOMON_TOOLS_MLMON_DEBUG_FILE_NAMES_H_
#define ALLOMON_TOOLS_MLMON_DEBUG_FILE_NAMES_H_

#include <string>

#include "tools/mlmon/inputs.h"

namespace allomon::report {

// Replaces the functions of a profile by those in the files of its code and in their debug files:
//   current style: amounts go to inlined functions, at the line of the call; wrappers that could
//                  not be recognised while they had no name are charged to their callers
//   stack style:   functions get names and lines; rows stay those of the code, since amounts of the
//                  callees of an inlined call are not known
// Files that are gone, or are not those that ran (by build id, or by the file itself), change
// nothing.  The sum stays the same.  `debug_folder` as in tools/symbols/code_file.h.  Cost:
// reads debug files, which takes a second per gigabyte.
void NameByDebugFiles(const std::string& debug_folder, Profile* profile);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_MLMON_DEBUG_FILE_NAMES_H_

// Tells to whom the code of a function belongs; pictures show it as colours.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_
#define ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

#include <string>

#include "tools/mlmon/inputs.h"
#include "tracker/formats/source_table.h"

namespace allomon::report {

enum class Origin {
  kProgram,  // the executable, or a source file that is not installed
  kLibrary,  // another shared library, or an installed header or source
  kRuntime,  // a language's runtime: the C and C++ libraries, the loader, std::, operator new
  kNone,     // not a function: <gc>, <main>, <unknown>
};

// Returns the origin by the name and the position alone, so that a function has the same origin in
// every profile.  A library with debug information, whose sources have relative paths, counts as
// the program, because it cannot be told apart.
Origin OriginOf(const SourceName& name);

// Returns "the program", "libraries", "language runtime", "no function".
const char* NameOf(Origin origin);

// ---- Gives advice about a profile that tells little.

// Returns a line about a function that takes 60 % of the bytes or more, and was called for them
// from many places: it may be an unknown wrapper.  Empty if the profile has no such function.
std::string SuggestWrapper(const Profile& profile);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

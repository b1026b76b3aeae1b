// Tells to whom the code of a function belongs; pictures show it as colours.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_
#define ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

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

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

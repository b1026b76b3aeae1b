// Whose code a function is: what the colours of a picture mean.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_
#define ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

#include "tracker/formats/source_table.h"

namespace allomon::report {

enum class Origin {
  kProgram,  // the executable, or a source file that is not installed
  kLibrary,  // another shared library, or an installed header or source
  kRuntime,  // of the languages: the C and C++ libraries, the loader, std::, operator new
  kNone,     // no function: <gc>, <main>, <unknown>
};

// By the name and the position alone, so a function has the same origin in every profile.  A
// library with debug information, whose sources are given by relative paths, is taken for the
// program: nothing tells them apart.
Origin OriginOf(const SourceName& name);

// "the program", "libraries", "language runtime", "no function".
const char* NameOf(Origin origin);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_ORIGIN_H_

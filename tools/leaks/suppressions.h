// Reads suppressions of lost blocks in the form of the leak sanitizer's and heaptrack's files.
#ifndef ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_
#define ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/heap/selection.h"

namespace allomon::leaks {

// Adds a pattern for each line "leak:TEXT" of the file: it matches names and files with that text
// in them, where `*` is any text, `^` at the text's begin the name's begin, and `$` its end.  Empty
// lines and those that begin with `#` are left out.  Fails with one line that names the file and
// the line.
absl::Status AddSuppressions(const std::string& path, heap::Patterns* patterns);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_

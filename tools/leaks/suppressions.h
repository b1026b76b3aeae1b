// Suppressions in the form of the files of the leak sanitizer and of heaptrack: lines "leak:TEXT".
#ifndef ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_
#define ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_

#include <string>

#include "absl/status/status.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/stacks.h"

namespace allomon::leaks {

// Adds a pattern for each line "leak:TEXT" of the file: it matches names with that text in them,
// where `*` is any text, `^` at the text's begin the name's begin, and `$` its end.  Empty lines
// and those that begin with `#` are left out.  Fails with one line that names the file and the
// line.
absl::Status AddSuppressions(const std::string& path, heap::Patterns* patterns);

// Removes samples with a frame in a module that a pattern matches by its path.  Functions and files
// are matched by heap::Selection::ignore.
void RemoveModules(const heap::Patterns& patterns, heap::HeapProfile* profile);

}  // namespace allomon::leaks

#endif  // ALLOMON_TOOLS_LEAKS_SUPPRESSIONS_H_

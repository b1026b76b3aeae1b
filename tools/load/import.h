// Readers of other profilers' texts.  They take them from a hostile writer: memory is proportional
// to the text, with limits, and an error is one line that begins with the number of the text's
// line.
//
// Functions of their arguments; any thread.
#ifndef ALLOMON_TOOLS_LOAD_IMPORT_H_
#define ALLOMON_TOOLS_LOAD_IMPORT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// What is read of a text at most: longer ones, and ones with more parts, are errors.
struct ImportLimits {
  size_t text_bytes = size_t{1} << 30;
  size_t samples = size_t{1} << 23;
  size_t frames = size_t{1} << 27;     // of all stacks together
  size_t locations = size_t{1} << 23;  // that differ
  size_t mappings = size_t{1} << 16;
};

using Imported = absl::StatusOr<heap::HeapProfile>;

// jemalloc's "heap_v2/PERIOD", and gperftools' "heap profile:" with heapprofile, heap_v2, heap and
// growth.  The first bytes of a file, 64 or all of it, tell.
bool LooksLikeHeapV2(std::string_view first_bytes);

// Locations have addresses and no names.
Imported ImportHeapV2(std::string_view text, const ImportLimits& limits = {});

// "outermost;...;innermost BYTES".  Says yes to a text whose first line has that form.
bool LooksLikeCollapsed(std::string_view first_bytes);

// The file does not say what it counts: `metric` does.
Imported ImportCollapsed(std::string_view text, heap::Metric metric,
                         const ImportLimits& limits = {});

// mlmon.out of kind alloc, and the script beside it, which has the functions' names: each function
// is a stack of its own with what it used itself.  Blocks are not known.
bool LooksLikeMlmon(std::string_view first_bytes);
Imported ImportMlmon(std::string_view profile, std::string_view sources_script,
                     const ImportLimits& limits = {});

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_IMPORT_H_

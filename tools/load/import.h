// Readers of text formats of other profilers.  The texts may be hostile: memory is proportional to
// the text, with limits, and an error is one line that begins with the number of the text's line.
//
// All are functions of their arguments; any thread may call them.
#ifndef ALLOMON_TOOLS_LOAD_IMPORT_H_
#define ALLOMON_TOOLS_LOAD_IMPORT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"

namespace allomon::interchange {

// Limits of a text.  A longer text, or one with more parts, is an error.
struct ImportLimits {
  size_t text_bytes = size_t{1} << 30;
  size_t samples = size_t{1} << 23;
  size_t frames = size_t{1} << 27;     // of all stacks together
  size_t locations = size_t{1} << 23;  // distinct ones
  size_t mappings = size_t{1} << 16;
};

using Imported = absl::StatusOr<heap::HeapProfile>;

// Recognizes jemalloc's "heap_v2/PERIOD", and gperftools' "heap profile:" with heapprofile,
// heap_v2, heap and growth.  The first 64 bytes of a file suffice, or all bytes of a shorter one.
bool LooksLikeHeapV2(std::string_view first_bytes);

// Locations get addresses but no names.
Imported ImportHeapV2(std::string_view text, const ImportLimits& limits = {});

// Recognizes "outermost;...;innermost BYTES".  Accepts any text whose first line has that form.
bool LooksLikeCollapsed(std::string_view first_bytes);

// The file does not say which metric its numbers count, so `metric` says it.
Imported ImportCollapsed(std::string_view text, heap::Metric metric,
                         const ImportLimits& limits = {});

// Recognizes an mlmon.out.  Those of kind alloc can be imported, with the script beside it, which
// has the functions' names.  Each function becomes a stack of its own, with the bytes that it
// allocated itself.  Numbers of blocks are not known.
bool LooksLikeMlmon(std::string_view first_bytes);
Imported ImportMlmon(std::string_view profile, std::string_view sources_script,
                     const ImportLimits& limits = {});

// ---- Words that the writer and the reader of heap_v2 share.

// A comment at the end of Allomon's files, where other readers look for mappings.  It states the
// sampling rate of the estimates, which the period does not determine.
inline constexpr char kRateComment[] = "# allomon rate ";

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_LOAD_IMPORT_H_

// The usage for versions of mimalloc whose structures are unknown: its functions count no blocks,
// so only the mapped ones are reported.
#include "allomon_backend.h"
#include "usage_of_mappings.h"

// Printed by Bazel and CMake when this file is compiled.
#if !ALLOMON_MIMALLOC_IS_INLINED
#define ALLOMON_QUOTED(text) #text
#define ALLOMON_QUOTED_VALUE(name) ALLOMON_QUOTED(name)
#pragma message("allomon: mimalloc " ALLOMON_QUOTED_VALUE(MI_MALLOC_VERSION)                     \
                " is used by its functions; the fast path is inlined for 209 and 301" \
                " (allocator/backends/README.md)")
#endif

namespace allomon::backend {

#if !ALLOMON_MIMALLOC_IS_INLINED
Usage ReadUsage() { return UsageOfMappings(); }
#endif

void Collect() { mi_collect(true); }

}  // namespace allomon::backend

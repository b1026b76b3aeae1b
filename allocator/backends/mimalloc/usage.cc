// The usage where mimalloc's structures are not known: its functions count no blocks, so only the
// mapped ones are told.
#include "allomon_backend.h"
#include "usage_of_mappings.h"

namespace allomon::backend {

#if !ALLOMON_MIMALLOC_IS_INLINED
Usage ReadUsage() { return UsageOfMappings(); }
#endif

void Collect() { mi_collect(true); }

}  // namespace allomon::backend

// The memory that the process holds through malloc: the backend's, the sampled range's and the
// guard's pool.
#ifndef ALLOMON_ALLOCATOR_HEAP_USAGE_H_
#define ALLOMON_ALLOCATOR_HEAP_USAGE_H_

#include "allocator/backends/heap_usage.h"

namespace allomon::internal {

// Other threads may run meanwhile.  Not inside malloc.  Cost: reads the process's mappings, and 45
// KiB for each 32 MiB of the heap.
backend::Usage ReadHeapUsage();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HEAP_USAGE_H_

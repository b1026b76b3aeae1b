// What the process holds by malloc, over the backend, the sampled range and the guard's pool.
#ifndef ALLOMON_ALLOCATOR_HEAP_USAGE_H_
#define ALLOMON_ALLOCATOR_HEAP_USAGE_H_

#include "allocator/backends/heap_usage.h"

namespace allomon::internal {

// Other threads go on meanwhile.  Not inside malloc.  Cost: the process's mappings are read, and
// 45 KiB for each 32 MiB of the heap.
backend::Usage ReadHeapUsage();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HEAP_USAGE_H_

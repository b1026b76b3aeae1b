// The memory that the process holds through malloc: the backend's, the sampled range's and the
// guard's pool.
#ifndef ALLOMON_ALLOCATOR_HEAP_USAGE_H_
#define ALLOMON_ALLOCATOR_HEAP_USAGE_H_

#include "allocator/backends/heap_usage.h"

namespace allomon::internal {

// Other threads may run meanwhile.  Not inside malloc.  Cost: reads the process's mappings, and 45
// KiB for each 32 MiB of the heap.
backend::Usage ReadHeapUsage();

struct HeapPages {
  enum class Known { kYes, kOtherAllocator, kUnreadable };
  Known known = Known::kOtherAllocator;
  backend::PageUsage pages;       // the sampled range's and the guard's are among them
  size_t sampled_free_bytes = 0;  // between sampled blocks
};

// Counts the contents of the heap's pages in `room`, which is aligned to 8 bytes; 64 KiB are
// enough.  Weak: a program that records need not link //allocator.  Any thread; may be called
// inside malloc, except by a thread that holds a lock of the sampled range, and takes one for some
// loads.  Allocates and maps nothing.  Cost: 0.5 ms for each GiB of the heap, 4 bytes for
// each sampled block, and a look at each line of /proc/self/maps.
__attribute__((weak)) HeapPages ReadHeapPages(char* room, size_t room_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HEAP_USAGE_H_

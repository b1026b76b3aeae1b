// A replacement of mmap() for mimalloc (tools/workspace/mimalloc.BUILD).
//
// A bit of the address distinguishes blocks below 64 TiB from sampled and mapped ones. mimalloc
// 2.0.9 asks for addresses from 2 to 30 TiB by itself.  3.0.1 leaves the choice to the kernel,
// which takes the top of the address space; then each free would need a second test.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_

#include <sys/types.h>

#include <cstddef>

// Calls mmap().  If mimalloc 3 requests no address, a hint between 2 and 30 TiB is passed, a
// different multiple of 64 MiB each time.  If that address is taken, the kernel chooses as usual.
// Thread safe.  Cost: the system call.
extern "C" void* allomon_map_low(void* address, size_t size_bytes, int protection, int flags,
                                 int descriptor, off_t offset);

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_

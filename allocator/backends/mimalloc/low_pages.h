// What mimalloc calls in place of mmap() (tools/workspace/mimalloc.BUILD).
//
// Blocks below 64 TiB are told from sampled ones, and from mapped ones, by a bit of their address.
// mimalloc 2.0.9 asks for addresses from 2 to 30 TiB by itself.  3.0.1 leaves the choice to the
// kernel, which takes the top of the address space; each free would look twice.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_

#include <sys/types.h>

#include <cstddef>

// mmap(); but where mimalloc 3 has no wish, an address between 2 and 30 TiB is wished for, another
// one each time, a multiple of 64 MiB.  Where that is taken, the kernel chooses as ever.
// Thread safe.  Cost: the system call.
extern "C" void* allomon_map_low(void* address, size_t size_bytes, int protection, int flags,
                                 int descriptor, off_t offset);

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_LOW_PAGES_H_

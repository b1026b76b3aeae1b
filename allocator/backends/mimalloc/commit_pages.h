// A replacement of mprotect() for mimalloc (tools/workspace/mimalloc.BUILD).
//
// mimalloc reserves a thread's first segment without access and makes pages of it accessible when
// they are needed.  If a seccomp filter of the host answers EPERM to that, mimalloc 2.0.9 takes one
// new segment after the other and each time retries the same pages of the old one, for ever.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_

#include <cstddef>

// Calls mprotect().  If that is refused for read and write, maps the pages without access anew,
// which has the same result.  Fails as mprotect() does, if that is refused as well. Cost: one
// system call; two for each page if mprotect() is refused.
extern "C" int allomon_commit_pages(void* start, size_t size_bytes, int protection);

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_

// What mimalloc calls in place of mprotect() (tools/workspace/mimalloc.BUILD).
//
// mimalloc reserves a thread's first segment without access and makes pages of it accessible when
// they are needed.  Where a seccomp filter of the host answers EPERM to that, mimalloc 2.0.9 takes
// one new segment after the other and tries the same pages of the old one each time, for ever.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_

#include <cstddef>

// mprotect(); but where that is refused for read and write, the pages without access are mapped
// anew, which leads to the same.  Fails as mprotect() does, if that is refused as well.
// Cost: one system call; two for each page where mprotect() is refused.
extern "C" int allomon_commit_pages(void* start, size_t size_bytes, int protection);

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_COMMIT_PAGES_H_

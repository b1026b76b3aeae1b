// calloc for blocks with whole pages of their own, which writes no page that is already zero.
//
// mimalloc 2.0.9 does not know which of its memory is fresh, and writes all of it: a table of 1 GiB
// that a program hardly uses would take 1 GiB.  Here the block's pages are given back to the kernel
// (MADV_DONTNEED), after which they read as zero without memory; fresh pages stay untouched.
//
// A block that was full of data when it was freed, and is taken again, is overwritten instead: its
// pages are resident, and new pages from the kernel would cost three times as much.  Three of its
// pages decide (the first, the middle, the last).
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_

#include <cstddef>

namespace allomon::backend {

// Makes a block of private anonymous memory zero.  Keeps errno.  If the kernel, or a seccomp
// filter, refuses madvise(), writes the pages that hold data. Cost: reads of three pages and a
// system call; otherwise a read of each page, and a write unless it is zero.
void ZeroBlock(void* block, size_t size_bytes);

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_

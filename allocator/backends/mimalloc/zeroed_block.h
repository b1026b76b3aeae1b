// calloc of blocks that have pages to themselves, which writes no page that is zero already.
//
// mimalloc 2.0.9 does not know which of its memory is fresh, and writes all of it: a table of 1 GiB
// that a program hardly uses would take 1 GiB.  Here the block's pages are given back to the kernel
// (MADV_DONTNEED), which makes them zero without a page; fresh ones stay as they are.
//
// A block that was full of data when it was freed, and is taken again, is written instead: its
// pages are there, and to have the kernel bring others costs three times as much.  Which of both it
// is, three pages of it tell (the first, the middle, the last).
#ifndef ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_
#define ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_

#include <cstddef>

namespace allomon::backend {

// Makes a block of private anonymous memory zero.  Leaves errno alone.  Where the kernel, or a
// seccomp filter, refuses madvise(), pages that hold data are written.
// Cost: three pages read and a system call; or a page read, and written unless zero, for each.
void ZeroBlock(void* block, size_t size_bytes);

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_MIMALLOC_ZEROED_BLOCK_H_

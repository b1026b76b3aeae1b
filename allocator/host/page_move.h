// Moves the contents of a large block to its successor, by moving its pages if possible.
//
// realloc of a sampled block takes a new block (README.md, "realloc").  Copying a gibibyte takes
// half a second, and makes pages resident that the program never touched; mremap() moves the pages.
#ifndef ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_
#define ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_

#include <cstddef>

namespace allomon::internal {

// Smaller blocks are copied; a copy of 16 MiB takes a few milliseconds.  From this size on a block
// of the backend or of the sampled range consists of whole pages of its own.
inline constexpr size_t kMovedBytes = size_t{16} << 20;

// Moves the contents of [from, ...) to [to, to + size_bytes); the contents of `from` are lost.
// `to` lies in the sampled range, where the kernel places nothing by itself.  Keeps errno.  Copies
// if the kernel cannot move the pages (before Linux 5.7, or if the host has changed the protection
// of a part). Cost: one system call; three if the kernel starts and gives up.
void MoveContents(void* to, void* from, size_t size_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_

// Moves the contents of a large block to its successor, by its pages where that is possible.
//
// realloc of a sampled block takes a new block (README.md, "realloc").  To copy a gibibyte takes
// half a second, and makes resident what the program never touched; mremap() moves the pages.
#ifndef ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_
#define ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_

#include <cstddef>

namespace allomon::internal {

// What takes less is copied: 16 MiB, whose copy takes a few milliseconds.  From this size on a
// block of either place, the backend's or the sampled range, consists of whole pages of its own.
inline constexpr size_t kMovedBytes = size_t{16} << 20;

// Makes [to, to + size_bytes) what [from, ...) is; the contents of `from` are lost.  `to` lies in
// the sampled range, where the kernel puts nothing by itself.  Leaves errno alone.  Copies where
// the kernel cannot move (before Linux 5.7, or where the host has changed a part's protection).
// Cost: one system call; three where the kernel begins and gives up.
void MoveContents(void* to, void* from, size_t size_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_PAGE_MOVE_H_

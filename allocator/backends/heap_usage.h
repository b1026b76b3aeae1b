// The memory that a backend holds, for mallinfo2 and its relatives.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_HEAP_USAGE_H_
#define ALLOMON_ALLOCATOR_BACKENDS_HEAP_USAGE_H_

#include <cstddef>

namespace allomon::backend {

struct Usage {
  size_t used_bytes = 0;       // the usable sizes of the live blocks
  size_t committed_bytes = 0;  // the memory that contains them, without that of large blocks
  size_t large_blocks = 0;     // number of live blocks with a mapping of their own
  size_t large_bytes = 0;      // not part of the bytes above

  Usage& operator+=(const Usage& other) {
    used_bytes += other.used_bytes;
    committed_bytes += other.committed_bytes;
    large_blocks += other.large_blocks;
    large_bytes += other.large_bytes;
    return *this;
  }
};

// The contents of a heap's pages, by the sizes of their blocks.
struct PageUsage {
  size_t live_bytes = 0;  // blocks in use, large ones among them
  size_t free_bytes = 0;  // blocks that were in a free list once, of pages with live ones
  size_t kept_bytes = 0;  // committed pages without live blocks, resident or not
};

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_HEAP_USAGE_H_

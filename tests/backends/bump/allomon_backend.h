// A complete backend that is as small as possible: bump allocation that never uses memory twice.
// It is a model to copy from, and it proves that a third backend plugs in.  A long-running program
// would run out of memory with it.
//
// A thread maps chunks as it needs them, one at a time, so there is nothing to lock.  A large block
// gets a mapping of its own, which is unmapped when the block is freed.
#ifndef ALLOMON_TESTS_BACKENDS_BUMP_ALLOMON_BACKEND_H_
#define ALLOMON_TESTS_BACKENDS_BUMP_ALLOMON_BACKEND_H_

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "allocator/backends/heap_usage.h"

namespace allomon::backend {

inline constexpr const char* kName = "bump";
inline constexpr size_t kChunkBytes = size_t{4} << 20;

// The header in front of each block.  Its size keeps blocks 16-aligned.
struct Header {
  size_t size_bytes;
  size_t mapped_before_bytes;  // distance to the start of the block's own mapping; 0 in a chunk
};
inline Header* HeaderOf(const void* block) {
  return static_cast<Header*>(const_cast<void*>(block)) - 1;
}

// The dynamic TLS model may call malloc to allocate a variable; the initial-exec model never does.
inline __thread uintptr_t t_next __attribute__((tls_model("initial-exec"))) = 0;
inline __thread uintptr_t t_end __attribute__((tls_model("initial-exec"))) = 0;

// Returns 0 on failure, with errno ENOMEM from mmap.
inline uintptr_t Map(size_t size_bytes) {
  void* start =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return start == MAP_FAILED ? 0 : reinterpret_cast<uintptr_t>(start);
}

inline void* Place(uintptr_t free_from, size_t alignment_bytes, size_t size_bytes,
                   bool own_mapping) {
  const uintptr_t block =
      (free_from + sizeof(Header) + alignment_bytes - 1) & ~(alignment_bytes - 1);
  *HeaderOf(reinterpret_cast<void*>(block)) = {size_bytes, own_mapping ? block - free_from : 0};
  return reinterpret_cast<void*>(block);
}

inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  if (alignment_bytes < 16) alignment_bytes = 16;
  size_t needed = 0;
  if (__builtin_add_overflow(size_bytes, alignment_bytes + sizeof(Header), &needed)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (needed > kChunkBytes / 4) {
    const uintptr_t start = Map(needed);
    return start == 0 ? nullptr : Place(start, alignment_bytes, size_bytes, true);
  }
  if (t_end - t_next < needed) {
    const uintptr_t chunk = Map(kChunkBytes);
    if (chunk == 0) return nullptr;
    t_next = chunk;
    t_end = chunk + kChunkBytes;
  }
  void* block = Place(t_next, alignment_bytes, size_bytes, false);
  t_next = reinterpret_cast<uintptr_t>(block) + size_bytes;
  return block;
}

inline void* Malloc(size_t size_bytes) { return Aligned(16, size_bytes); }
// The memory of a new block was never used, so it is zero.
inline void* Calloc(size_t size_bytes) { return Aligned(16, size_bytes); }

inline void Free(void* block) {
  const size_t before_bytes = block == nullptr ? 0 : HeaderOf(block)->mapped_before_bytes;
  if (before_bytes == 0) return;
  munmap(static_cast<char*>(block) - before_bytes, before_bytes + HeaderOf(block)->size_bytes);
}

inline size_t UsableSize(const void* block) {
  return block == nullptr ? 0 : HeaderOf(block)->size_bytes;
}
inline size_t GoodSize(size_t size_bytes) { return size_bytes; }

inline void* Realloc(void* block, size_t size_bytes) {
  void* moved = Aligned(16, size_bytes);
  if (moved == nullptr || block == nullptr) return moved;
  const size_t old_bytes = UsableSize(block);
  memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
  Free(block);
  return moved;
}

// This backend counts nothing, and gives nothing back.
inline Usage ReadUsage() { return {}; }
inline void Collect() {}

}  // namespace allomon::backend

#endif  // ALLOMON_TESTS_BACKENDS_BUMP_ALLOMON_BACKEND_H_

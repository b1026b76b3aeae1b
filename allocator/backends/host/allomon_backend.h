// The backend interface over the malloc that the program would call without this library: the next
// one in the order of symbol look-up (glibc's, or that of a jemalloc or tcmalloc that is linked
// with the program or preloaded).
//
// The functions are found at the first call, which the loader makes before there is a second
// thread. The search may allocate (dlsym(3)); those blocks lie in an arena of this library and are
// never freed.
#ifndef ALLOMON_ALLOCATOR_BACKENDS_HOST_ALLOMON_BACKEND_H_
#define ALLOMON_ALLOCATOR_BACKENDS_HOST_ALLOMON_BACKEND_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/backends/heap_usage.h"

// glibc's own names (__libc_malloc) stay glibc's.  Functions that query the heap's state (mallopt,
// malloc_stats), and those of jemalloc's own interface, reach the program's allocator.
#define ALLOMON_BACKEND_CALLS_LIBC_NAMES 1
#define ALLOMON_BACKEND_IS_THE_HOSTS 1

namespace allomon::backend {

inline constexpr const char* kName = "host";

#define ALLOMON_HIDDEN __attribute__((visibility("hidden")))

// The program's functions; at first, functions that find them.  Relaxed: a thread reads either of
// the two, and both are right.
struct HostFunctions {
  std::atomic<void* (*)(size_t)> malloc;
  std::atomic<void (*)(void*)> free;
  std::atomic<void* (*)(size_t, size_t)> calloc;
  std::atomic<void* (*)(void*, size_t)> realloc;
  std::atomic<void* (*)(size_t, size_t)> memalign;
  // Called by an operator new that is not sampled; the same as malloc, unless the library stands in
  // front of a malloc that the program defines.
  std::atomic<void* (*)(size_t)> new_malloc;
};
extern HostFunctions host_functions ALLOMON_HIDDEN;

// Finds the program's functions, unless that was done.  Called before there is a second thread.
void FindHostFunctions();

inline constexpr size_t kArenaBytes = 16384;
extern char arena[kArenaBytes] ALLOMON_HIDDEN;
inline bool IsOfArena(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(arena) < kArenaBytes;
}
void* ReallocOfArena(void* block, size_t size_bytes) ALLOMON_HIDDEN;

inline void* Malloc(size_t size_bytes) {
  return host_functions.malloc.load(std::memory_order_relaxed)(size_bytes);
}
inline void* NewMalloc(size_t size_bytes) {
  return host_functions.new_malloc.load(std::memory_order_relaxed)(size_bytes);
}
inline void Free(void* block) {
  if (__builtin_expect(IsOfArena(block), 0)) return;
  host_functions.free.load(std::memory_order_relaxed)(block);
}
inline void* Calloc(size_t size_bytes) {
  return host_functions.calloc.load(std::memory_order_relaxed)(1, size_bytes);
}
inline void* Realloc(void* block, size_t size_bytes) {
  if (__builtin_expect(IsOfArena(block), 0)) return ReallocOfArena(block, size_bytes);
  // The program's realloc may free the block for size 0, and return nullptr.
  return host_functions.realloc.load(std::memory_order_relaxed)(block,
                                                                size_bytes == 0 ? 1 : size_bytes);
}
inline void* Aligned(size_t alignment_bytes, size_t size_bytes) {
  return host_functions.memalign.load(std::memory_order_relaxed)(alignment_bytes, size_bytes);
}
// Calls the program's malloc_usable_size(), whose result may be more than the block has: tcmalloc's
// debug form adds the alignment.
size_t UsableSize(const void* block);
// Realloc().  The first `*old_bytes` bytes of the result, or all if that is more, are to be copied:
// those of the old block, and perhaps others.
void* ReallocToCopy(void* block, size_t size_bytes, size_t* old_bytes);
// The size classes of the program's malloc are unknown.
inline size_t GoodSize(size_t size_bytes) {
  return size_bytes < 16 ? 16 : (size_bytes + 15) & ~size_t{15};
}

Usage ReadUsage();
void Collect();

}  // namespace allomon::backend

#endif  // ALLOMON_ALLOCATOR_BACKENDS_HOST_ALLOMON_BACKEND_H_

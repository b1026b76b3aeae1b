// An executable that exports a malloc of its own, and a library that calls it; own_malloc_costs.py
// counts their instructions.
//
//   AS_LIBRARY  is the library
//
//   own_malloc PAIRS          pairs of malloc(64) and free, in the library
//   own_malloc --built-with   prints the key of the golden table
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

extern "C" void RunPairs(long pairs);

#if defined(AS_LIBRARY)

void RunPairs(long pairs) {
  for (long i = 0; i < pairs; ++i) free(malloc(64));
}

#else

#include <sys/mman.h>

#include "benchmarks/built_with.h"

namespace {

// The freed blocks of 64 bytes, the last one first; others are not used again.
constexpr size_t kListedBytes = 64;
void* g_freed = nullptr;
char* g_next = nullptr;
constexpr size_t kHeapBytes = size_t{256} << 20;

struct alignas(16) Header {
  size_t size_bytes;
};

void* Take(size_t alignment_bytes, size_t size_bytes) {
  if (g_next == nullptr) {
    g_next = static_cast<char*>(mmap(nullptr, kHeapBytes, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  const uintptr_t alignment = alignment_bytes < 16 ? 16 : alignment_bytes;
  const uintptr_t block =
      (reinterpret_cast<uintptr_t>(g_next) + sizeof(Header) + alignment - 1) & ~(alignment - 1);
  g_next = reinterpret_cast<char*>(block + size_bytes);
  reinterpret_cast<Header*>(block)[-1].size_bytes = size_bytes;
  return reinterpret_cast<void*>(block);
}

}  // namespace

extern "C" {

void* malloc(size_t size_bytes) noexcept {
  if (size_bytes != kListedBytes || g_freed == nullptr) return Take(16, size_bytes);
  void* const block = g_freed;
  g_freed = *static_cast<void**>(block);
  return block;
}
void free(void* block) noexcept {
  if (block == nullptr || static_cast<Header*>(block)[-1].size_bytes != kListedBytes) return;
  *static_cast<void**>(block) = g_freed;
  g_freed = block;
}
void* calloc(size_t count, size_t size_bytes) noexcept {
  return memset(malloc(count * size_bytes), 0, count * size_bytes);
}
void* realloc(void* block, size_t size_bytes) noexcept {
  void* const moved = malloc(size_bytes);
  if (block == nullptr) return moved;
  const size_t old_bytes = static_cast<Header*>(block)[-1].size_bytes;
  memcpy(moved, block, old_bytes < size_bytes ? old_bytes : size_bytes);
  free(block);
  return moved;
}
void* memalign(size_t alignment_bytes, size_t size_bytes) noexcept {
  return Take(alignment_bytes, size_bytes);
}

}  // extern "C"

int main(int count, char** arguments) {
  if (count == 2 && strcmp(arguments[1], "--built-with") == 0) {
    allomon::benchmarks::PrintBuiltWith();
  } else if (count == 2) {
    RunPairs(atol(arguments[1]));
  }
  return 0;
}

#endif

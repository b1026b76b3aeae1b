#include "runtime/internal/memory.h"

#include <sys/mman.h>

namespace allomon::gc::internal {

void* ReserveMemory(size_t size_bytes) {
  void* start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return start == MAP_FAILED ? nullptr : start;
}

void ReleaseMemory(void* start, size_t size_bytes) { munmap(start, size_bytes); }

void ForgetMemory(void* start, size_t size_bytes) { madvise(start, size_bytes, MADV_DONTNEED); }

}  // namespace allomon::gc::internal

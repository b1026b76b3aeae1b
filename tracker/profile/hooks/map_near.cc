#include "tracker/profile/hooks/map_near.h"

#include <sys/mman.h>

namespace allomon::internal {
namespace {

// Also the lowest address that is tried, since nothing is ever mapped at address 0.
constexpr uintptr_t kStepBytes = uintptr_t{1} << 20;

void* MapInKernel(uintptr_t at, size_t size_bytes) {
  return mmap(reinterpret_cast<void*>(at), size_bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

void UnmapInKernel(void* pages, size_t size_bytes) { munmap(pages, size_bytes); }

void* MapExactly(uintptr_t at, size_t size_bytes, const PageMapper& mapper) {
  void* const pages = mapper.map(at, size_bytes);
  if (pages == MAP_FAILED) return nullptr;
  if (pages == reinterpret_cast<void*>(at)) return pages;
  mapper.unmap(pages, size_bytes);
  return nullptr;
}

}  // namespace

const PageMapper kernel_pages = {MapInKernel, UnmapInKernel};

void* MapNear(uintptr_t begin, uintptr_t end, size_t size_bytes, uintptr_t reach_bytes,
              const PageMapper& mapper) {
  if (size_bytes > reach_bytes || end - begin > reach_bytes) return nullptr;
  const uintptr_t lowest = end > reach_bytes + kStepBytes ? end - reach_bytes : kStepBytes;
  if (begin > size_bytes) {
    uintptr_t at = (begin - size_bytes) & ~(kStepBytes - 1);
    for (; at >= lowest; at -= kStepBytes) {
      if (void* const pages = MapExactly(at, size_bytes, mapper)) return pages;
    }
  }
  uintptr_t at = (begin + reach_bytes - size_bytes) & ~(kStepBytes - 1);
  for (; at >= end; at -= kStepBytes) {
    if (void* const pages = MapExactly(at, size_bytes, mapper)) return pages;
  }
  return nullptr;
}

}  // namespace allomon::internal

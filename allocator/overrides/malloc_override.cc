// Replaces malloc and its relatives.  Only this file defines their names.
//
// <stdlib.h> declares the functions noexcept and with attributes of its own; so does this file.
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "allocator/alloc_path.h"
#include "tracker/base/check.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

using allomon::internal::AllocateAlignedFast;
using allomon::internal::AllocateFast;
using allomon::internal::AllocateZeroedFast;
using allomon::internal::FreeFast;
using allomon::internal::ReallocateFast;

bool IsPowerOfTwo(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

// A caller of malloc may expect ENOMEM together with a nullptr.
inline void* OrNoMemory(void* block) {
  if (__builtin_expect(block == nullptr, 0)) errno = ENOMEM;
  return block;
}

void* FailWith(int error) {
  errno = error;
  return nullptr;
}

// Inline, so that call stacks begin with the caller of valloc.
__attribute__((always_inline)) inline void* PageAligned(size_t size_bytes) {
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  ALLOMON_DCHECK("inv.aligned.power", IsPowerOfTwo(page_bytes));
  return OrNoMemory(AllocateAlignedFast(page_bytes, size_bytes));
}

}  // namespace

extern "C" {

ALLOMON_EXPORT void* malloc(size_t size_bytes) noexcept { return AllocateFast(size_bytes); }

ALLOMON_EXPORT void free(void* block) noexcept { FreeFast(block); }

ALLOMON_EXPORT void* calloc(size_t count, size_t size_bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return FailWith(ENOMEM);
  return OrNoMemory(AllocateZeroedFast(total));
}

ALLOMON_EXPORT void* realloc(void* block, size_t size_bytes) noexcept {
  return OrNoMemory(block == nullptr ? AllocateFast(size_bytes)
                                     : ReallocateFast(block, size_bytes));
}

ALLOMON_EXPORT void* reallocarray(void* block, size_t count, size_t size_bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, size_bytes, &total)) return FailWith(ENOMEM);
  return OrNoMemory(block == nullptr ? AllocateFast(total) : ReallocateFast(block, total));
}

ALLOMON_EXPORT int posix_memalign(void** out, size_t alignment_bytes, size_t size_bytes) noexcept {
  if (!IsPowerOfTwo(alignment_bytes) || alignment_bytes % sizeof(void*) != 0) return EINVAL;
  const int kept_errno = errno;
  void* block = AllocateAlignedFast(alignment_bytes, size_bytes);
  if (block == nullptr) {
    errno = kept_errno;  // the backend has set errno
    return ENOMEM;
  }
  *out = block;
  return 0;
}

ALLOMON_EXPORT void* aligned_alloc(size_t alignment_bytes, size_t size_bytes) noexcept {
  if (!IsPowerOfTwo(alignment_bytes)) return FailWith(EINVAL);
  return OrNoMemory(AllocateAlignedFast(alignment_bytes, size_bytes));
}

// glibc rounds an odd alignment up to a power of two.
ALLOMON_EXPORT void* memalign(size_t alignment_bytes, size_t size_bytes) noexcept {
  if (alignment_bytes > SIZE_MAX / 2) return FailWith(EINVAL);
  size_t power = sizeof(void*);
  while (power < alignment_bytes) power *= 2;
  return OrNoMemory(AllocateAlignedFast(power, size_bytes));
}

ALLOMON_EXPORT void* valloc(size_t size_bytes) noexcept { return PageAligned(size_bytes); }

ALLOMON_EXPORT void* pvalloc(size_t size_bytes) noexcept {
  const size_t page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (size_bytes > SIZE_MAX - page_bytes) return FailWith(ENOMEM);
  return PageAligned((size_bytes + page_bytes - 1) / page_bytes * page_bytes);
}

// Of C23.  glibc 2.43's call free(), and an allocator's own would not know our blocks.
ALLOMON_EXPORT void free_sized(void* block, size_t) noexcept { free(block); }
ALLOMON_EXPORT void free_aligned_sized(void* block, size_t, size_t) noexcept { free(block); }

ALLOMON_EXPORT size_t malloc_usable_size(void* block) noexcept {
  return allomon::internal::UsableSizeOf(block);
}

}  // extern "C"

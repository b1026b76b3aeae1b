// Replaces jemalloc's own functions if the program has its own allocator.  The program may pass
// them one of our blocks, since it may free, resize and measure with them whatever malloc returned
// (folly, Rust). tcmalloc has some of these names, too.
//
// Interface: jemalloc(3), "Non-standard API".  A block of ours is resized by realloc, whose
// alignment suffices up to 16 bytes; a larger MALLOCX_ALIGN takes a block of the program's
// allocator.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocator/guard/guarded_block.h"
#include "allocator/host/writing_reserve.h"
#include "allocator/range/sampled_range.h"
#include "allomon_backend.h"

#if defined(ALLOMON_BACKEND_IS_THE_HOSTS)

#include <dlfcn.h>

#define ALLOMON_EXPORT __attribute__((visibility("default"), used))

namespace {

// Returns nullptr if the program's allocator does not have the function.
template <typename Signature>
Signature* Next(const char* name) {
  return reinterpret_cast<Signature*>(dlsym(RTLD_NEXT, name));
}

bool IsOurs(const void* block) {
  return allomon::internal::TheSampledRange().Contains(block) ||
         allomon::internal::IsGuarded(block) || allomon::internal::IsInReserve(block);
}

size_t AlignmentOf(int flags) { return size_t{1} << (flags & 63); }

}  // namespace

extern "C" {

ALLOMON_EXPORT void dallocx(void* block, int flags) noexcept {
  static const auto next = Next<void(void*, int)>("dallocx");
  return IsOurs(block) || next == nullptr ? free(block) : next(block, flags);
}

ALLOMON_EXPORT void sdallocx(void* block, size_t size_bytes, int flags) noexcept {
  static const auto next = Next<void(void*, size_t, int)>("sdallocx");
  return IsOurs(block) || next == nullptr ? free(block) : next(block, size_bytes, flags);
}

ALLOMON_EXPORT size_t sallocx(const void* block, int flags) noexcept {
  static const auto next = Next<size_t(const void*, int)>("sallocx");
  return IsOurs(block) || next == nullptr ? malloc_usable_size(const_cast<void*>(block))
                                          : next(block, flags);
}

// Our blocks are not resized in place.
ALLOMON_EXPORT size_t xallocx(void* block, size_t size_bytes, size_t extra_bytes,
                              int flags) noexcept {
  static const auto next = Next<size_t(void*, size_t, size_t, int)>("xallocx");
  return IsOurs(block) || next == nullptr ? malloc_usable_size(block)
                                          : next(block, size_bytes, extra_bytes, flags);
}

ALLOMON_EXPORT void* rallocx(void* block, size_t size_bytes, int flags) noexcept {
  static const auto next = Next<void*(void*, size_t, int)>("rallocx");
  if (!IsOurs(block)) {
    return next == nullptr ? realloc(block, size_bytes) : next(block, size_bytes, flags);
  }
  constexpr int kZero = 64;  // MALLOCX_ZERO
  constexpr size_t kPlainAlignment = 16;
  if ((flags & kZero) == 0 && AlignmentOf(flags) <= kPlainAlignment) {
    return realloc(block, size_bytes);
  }
  const size_t before_bytes = malloc_usable_size(block);
  void* moved = nullptr;
  if (posix_memalign(&moved,
                     AlignmentOf(flags) < sizeof(void*) ? sizeof(void*) : AlignmentOf(flags),
                     size_bytes) != 0) {
    return nullptr;
  }
  const size_t kept_bytes = before_bytes < size_bytes ? before_bytes : size_bytes;
  memcpy(moved, block, kept_bytes);
  if ((flags & kZero) != 0) {
    memset(static_cast<char*>(moved) + kept_bytes, 0, size_bytes - kept_bytes);
  }
  free(block);
  return moved;
}

}  // extern "C"

#endif  // ALLOMON_BACKEND_IS_THE_HOSTS

// operator delete, and the nothrow forms of operator new, replaced.
//
// Compiled without exceptions, as malloc_override.cc is and for the same reason: a thread
// that ends itself, or is cancelled, in a callback unwinds through these functions.
#include <new>

#include "allocator/alloc_path.h"
#include "allocator/nothrow_retry.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

using allomon::internal::AllocateAlignedFast;
using allomon::internal::AllocateFast;
using allomon::internal::FreeFast;
using allomon::internal::RetryNothrowAlignedSlow;
using allomon::internal::RetryNothrowSlow;

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes) {
  void* block = AllocateFast(size_bytes);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowSlow(size_bytes);
}

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes,
                                                      std::align_val_t alignment) {
  const size_t alignment_bytes = static_cast<size_t>(alignment);
  void* block = AllocateAlignedFast(alignment_bytes, size_bytes);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowAlignedSlow(alignment_bytes, size_bytes);
}

}  // namespace

ALLOMON_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept { return NewOrNull(n); }
ALLOMON_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return NewOrNull(n);
}
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return NewOrNull(n, a);
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return NewOrNull(n, a);
}

ALLOMON_EXPORT void operator delete(void* p) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete[](void* p) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete(void* p, size_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete[](void* p, size_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete(void* p, size_t, std::align_val_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete[](void* p, size_t, std::align_val_t) noexcept { FreeFast(p); }
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  FreeFast(p);
}
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  FreeFast(p);
}

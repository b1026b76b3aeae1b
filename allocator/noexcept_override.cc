// operator delete, and the nothrow forms of operator new, replaced.
//
// Compiled without exceptions, as malloc_override.cc is and for the same reason: a thread that ends
// itself in a callback, or is cancelled there, unwinds through these functions.
#include <new>

#include "allocator/alloc_path.h"
#include "allocator/nothrow_retry.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

using allomon::internal::AllocateAlignedFast;
using allomon::internal::AllocateFast;
using allomon::internal::EntryPoint;
using allomon::internal::FreeFast;
using allomon::internal::RetryNothrowAlignedSlow;
using allomon::internal::RetryNothrowSlow;

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes, EntryPoint entry) {
  void* block = AllocateFast(size_bytes, entry);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowSlow(size_bytes, entry);
}

__attribute__((always_inline)) inline void* NewOrNull(size_t size_bytes, std::align_val_t alignment,
                                                      EntryPoint entry) {
  const size_t alignment_bytes = static_cast<size_t>(alignment);
  void* block = AllocateAlignedFast(alignment_bytes, size_bytes, entry);
  if (__builtin_expect(block != nullptr, 1)) return block;
  return RetryNothrowAlignedSlow(alignment_bytes, size_bytes, entry);
}

constexpr EntryPoint kOne = EntryPoint::kNew;
constexpr EntryPoint kArray = EntryPoint::kNewArray;

}  // namespace

ALLOMON_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept {
  return NewOrNull(n, kOne);
}
ALLOMON_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return NewOrNull(n, a, kOne);
}
ALLOMON_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept {
  return NewOrNull(n, kArray);
}
ALLOMON_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return NewOrNull(n, a, kArray);
}

ALLOMON_EXPORT void operator delete(void* p) noexcept { FreeFast(p, kOne); }
ALLOMON_EXPORT void operator delete(void* p, size_t n) noexcept { FreeFast(p, kOne, n); }
ALLOMON_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { FreeFast(p, kOne); }
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t) noexcept { FreeFast(p, kOne); }
ALLOMON_EXPORT void operator delete(void* p, size_t n, std::align_val_t) noexcept {
  FreeFast(p, kOne, n);
}
ALLOMON_EXPORT void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  FreeFast(p, kOne);
}
ALLOMON_EXPORT void operator delete[](void* p) noexcept { FreeFast(p, kArray); }
ALLOMON_EXPORT void operator delete[](void* p, size_t n) noexcept { FreeFast(p, kArray, n); }
ALLOMON_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept {
  FreeFast(p, kArray);
}
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t) noexcept { FreeFast(p, kArray); }
ALLOMON_EXPORT void operator delete[](void* p, size_t n, std::align_val_t) noexcept {
  FreeFast(p, kArray, n);
}
ALLOMON_EXPORT void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept {
  FreeFast(p, kArray);
}

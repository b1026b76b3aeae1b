// operator new and delete as the preloaded library's own code calls them.  The linker renames its
// references (--wrap in BUILD), the C++ runtime's inside it included; only the host calls the
// replaced operators.
//
// The blocks come from the backend, whichever malloc the process uses: they are not sampled, so no
// profile charges the profiler, and they never meet an operator of the host.  Those of a program
// whose own malloc is seen lie in memory of ours.  The first ones lie in the start room.
#include <cstddef>
#include <new>

#include "allocator/host/program_malloc.h"
#include "allocator/host/start_room.h"
#include "allocator/host/throw_bad_alloc.h"
#include "allocator/host/writing_reserve.h"
#include "allomon_backend.h"
#include "tracker/base/check.h"

namespace {

namespace backend = allomon::backend;

constexpr size_t kPlainAlignment = 8;

void* FromBackend(size_t size_bytes, size_t alignment_bytes = kPlainAlignment) {
#ifdef ALLOMON_BACKEND_IS_THE_HOSTS
  if (allomon::internal::program_malloc_is_seen) {
    constexpr size_t kLeastAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
    const size_t alignment = alignment_bytes < kLeastAlignment ? kLeastAlignment : alignment_bytes;
    return allomon::internal::AllocateOwn(size_bytes, alignment);
  }
#endif
  return alignment_bytes == kPlainAlignment ? backend::Malloc(size_bytes)
                                            : backend::Aligned(alignment_bytes, size_bytes);
}

void* FromRoomOrBackend(size_t size_bytes, size_t alignment_bytes = kPlainAlignment) {
  void* const first = allomon::internal::TakeFromStartRoom(size_bytes, alignment_bytes);
  return first != nullptr ? first : FromBackend(size_bytes, alignment_bytes);
}

// The writer of a profile falls back to a reserve, and is given up if that is exhausted, too.
void* OrThrow(void* block, size_t size_bytes, size_t alignment_bytes) {
  if (block == nullptr) block = allomon::internal::AllocateForWriter(size_bytes, alignment_bytes);
  if (block == nullptr) allomon::internal::ThrowBadAllocSlow();
  ALLOMON_DCHECK_EQ("inv.aligned.block", reinterpret_cast<uintptr_t>(block) & (alignment_bytes - 1),
                    0);
  return block;
}

void* Allocate(size_t size_bytes) {
  void* first = allomon::internal::TakeFromStartRoom(size_bytes, kPlainAlignment);
  if (first == nullptr) {
    first = allomon::internal::AllocateFirstForWriter(size_bytes, kPlainAlignment);
  }
  return first != nullptr ? first : OrThrow(FromBackend(size_bytes), size_bytes, kPlainAlignment);
}

void Free(void* block, size_t size_bytes = 0) {
  if (allomon::internal::IsInStartRoom(block)) {
    return allomon::internal::ReleaseToStartRoom(block, size_bytes);
  }
  if (allomon::internal::IsInReserve(block)) return allomon::internal::ReleaseToReserve();
#ifdef ALLOMON_BACKEND_IS_THE_HOSTS
  if (allomon::internal::program_malloc_is_seen && allomon::internal::FreeOwn(block)) return;
#endif
  backend::Free(block);
}

}  // namespace

// `what` is a for arrays; for one object it is w in names of operator new, l in those of delete.
#define ALLOMON_INTERNAL_NEW(what)                                                         \
  void* __wrap__Zn##what##m(size_t n) { return Allocate(n); }                              \
  void* __wrap__Zn##what##mRKSt9nothrow_t(size_t n, const std::nothrow_t&) noexcept {      \
    return FromRoomOrBackend(n);                                                           \
  }                                                                                        \
  void* __wrap__Zn##what##mSt11align_val_t(size_t n, size_t a) {                           \
    return OrThrow(FromRoomOrBackend(n, a), n, a);                                         \
  }                                                                                        \
  void* __wrap__Zn##what##mSt11align_val_tRKSt9nothrow_t(size_t n, size_t a,               \
                                                         const std::nothrow_t&) noexcept { \
    return FromRoomOrBackend(n, a);                                                        \
  }

#define ALLOMON_INTERNAL_DELETE(what)                                                           \
  void __wrap__Zd##what##Pv(void* p) noexcept { Free(p); }                                      \
  void __wrap__Zd##what##Pvm(void* p, size_t n) noexcept { Free(p, n); }                        \
  void __wrap__Zd##what##PvRKSt9nothrow_t(void* p, const std::nothrow_t&) noexcept { Free(p); } \
  void __wrap__Zd##what##PvSt11align_val_t(void* p, size_t) noexcept { Free(p); }               \
  void __wrap__Zd##what##PvmSt11align_val_t(void* p, size_t n, size_t) noexcept { Free(p, n); } \
  void __wrap__Zd##what##PvSt11align_val_tRKSt9nothrow_t(void* p, size_t,                       \
                                                         const std::nothrow_t&) noexcept {      \
    Free(p);                                                                                    \
  }

extern "C" {

ALLOMON_INTERNAL_NEW(w)
ALLOMON_INTERNAL_NEW(a)
ALLOMON_INTERNAL_DELETE(l)
ALLOMON_INTERNAL_DELETE(a)

}  // extern "C"

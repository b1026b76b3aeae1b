// Replaces jemalloc's own functions.  The program may pass them what malloc returned, and malloc's
// relatives what they returned (folly, Rust, redis 8).  tcmalloc has some of these names, too.
//
// Where malloc is replaced, all of them are.  If the program keeps its own allocator, they are that
// one's, but for our blocks, and mallocx is malloc, unless its flags name an arena or a cache.
//
// Interface: jemalloc(3), "Non-standard API".  A block of ours is resized by realloc, whose
// alignment suffices up to 16 bytes; a larger MALLOCX_ALIGN takes a new block.  Arenas and caches
// of flags are ignored.
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocator/alloc_path.h"
#include "allocator/guard/guarded_block.h"
#include "allocator/host/writing_reserve.h"
#include "allocator/range/sampled_range.h"
#include "allomon_backend.h"

#define ALLOMON_EXPORT ALLOMON_MALLOC_SECTION __attribute__((visibility("default"), used))

namespace {

constexpr int kZero = 64;  // MALLOCX_ZERO
constexpr size_t kPlainAlignment = 16;

size_t AlignmentOf(int flags) { return size_t{1} << (flags & 63); }

// Resizes a block of ours.  Inline, so that call stacks begin with the caller of rallocx.
__attribute__((always_inline)) inline void* Resize(void* block, size_t size_bytes, int flags) {
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

__attribute__((always_inline)) inline void* AllocateWithFlags(size_t size_bytes, int flags) {
  if (AlignmentOf(flags) <= kPlainAlignment) {
    return (flags & kZero) != 0 ? allomon::internal::AllocateZeroedFast(size_bytes)
                                : allomon::internal::AllocateFast(size_bytes);
  }
  void* const block = allomon::internal::AllocateAlignedFast(AlignmentOf(flags), size_bytes);
  if (block != nullptr && (flags & kZero) != 0) memset(block, 0, size_bytes);
  return block;
}

}  // namespace

#if defined(ALLOMON_BACKEND_IS_THE_HOSTS)

#include "allocator/host/malloc_owner.h"
#include "tracker/base/next_symbol.h"

namespace {

using allomon::internal::NextSymbol;

constexpr int kAlignmentAndZero = 127;  // the other bits: MALLOCX_ARENA, MALLOCX_TCACHE

// Those that the program's allocator has.
NextSymbol<void*(size_t, int)> g_mallocx("mallocx");
NextSymbol<void(void*, int)> g_dallocx("dallocx");
NextSymbol<void(void*, size_t, int)> g_sdallocx("sdallocx");
NextSymbol<size_t(const void*, int)> g_sallocx("sallocx");
NextSymbol<size_t(void*, size_t, size_t, int)> g_xallocx("xallocx");
NextSymbol<void*(void*, size_t, int)> g_rallocx("rallocx");

bool IsBehind(const char* name) {
  return allomon::internal::DefinerBehind != nullptr &&
         allomon::internal::DefinerBehind(name) != nullptr;
}

__attribute__((constructor)) void LookUp() {
  g_mallocx.FindIf(IsBehind("mallocx"));
  g_dallocx.FindIf(IsBehind("dallocx"));
  g_sdallocx.FindIf(IsBehind("sdallocx"));
  g_sallocx.FindIf(IsBehind("sallocx"));
  g_xallocx.FindIf(IsBehind("xallocx"));
  g_rallocx.FindIf(IsBehind("rallocx"));
}

bool IsOurs(const void* block) {
  return allomon::internal::TheSampledRange().Contains(block) ||
         allomon::internal::IsGuarded(block) || allomon::internal::IsInReserve(block);
}

}  // namespace

extern "C" {

ALLOMON_EXPORT void* mallocx(size_t size_bytes, int flags) noexcept {
  const auto next = g_mallocx.Find();
  if (next != nullptr && (flags & ~kAlignmentAndZero) != 0) return next(size_bytes, flags);
  return AllocateWithFlags(size_bytes, flags);
}

ALLOMON_EXPORT void dallocx(void* block, int flags) noexcept {
  const auto next = g_dallocx.Find();
  return IsOurs(block) || next == nullptr ? free(block) : next(block, flags);
}

ALLOMON_EXPORT void sdallocx(void* block, size_t size_bytes, int flags) noexcept {
  const auto next = g_sdallocx.Find();
  return IsOurs(block) || next == nullptr ? free(block) : next(block, size_bytes, flags);
}

ALLOMON_EXPORT size_t sallocx(const void* block, int flags) noexcept {
  const auto next = g_sallocx.Find();
  return IsOurs(block) || next == nullptr ? malloc_usable_size(const_cast<void*>(block))
                                          : next(block, flags);
}

// Our blocks are not resized in place.
ALLOMON_EXPORT size_t xallocx(void* block, size_t size_bytes, size_t extra_bytes,
                              int flags) noexcept {
  const auto next = g_xallocx.Find();
  return IsOurs(block) || next == nullptr ? malloc_usable_size(block)
                                          : next(block, size_bytes, extra_bytes, flags);
}

ALLOMON_EXPORT void* rallocx(void* block, size_t size_bytes, int flags) noexcept {
  const auto next = g_rallocx.Find();
  if (IsOurs(block)) return Resize(block, size_bytes, flags);
  return next == nullptr ? realloc(block, size_bytes) : next(block, size_bytes, flags);
}

}  // extern "C"

#else

extern "C" {

ALLOMON_EXPORT void* mallocx(size_t size_bytes, int flags) noexcept {
  return AllocateWithFlags(size_bytes, flags);
}

ALLOMON_EXPORT size_t nallocx(size_t size_bytes, int flags) noexcept {
  const size_t mask = AlignmentOf(flags) - 1;
  return allomon::backend::GoodSize((size_bytes + mask) & ~mask);
}

ALLOMON_EXPORT void dallocx(void* block, int) noexcept { free(block); }

ALLOMON_EXPORT void sdallocx(void* block, size_t, int) noexcept { free(block); }

ALLOMON_EXPORT size_t sallocx(const void* block, int) noexcept {
  return malloc_usable_size(const_cast<void*>(block));
}

// Blocks are not resized in place.
ALLOMON_EXPORT size_t xallocx(void* block, size_t, size_t, int) noexcept {
  return malloc_usable_size(block);
}

ALLOMON_EXPORT void* rallocx(void* block, size_t size_bytes, int flags) noexcept {
  return Resize(block, size_bytes, flags);
}

}  // extern "C"

#endif  // ALLOMON_BACKEND_IS_THE_HOSTS

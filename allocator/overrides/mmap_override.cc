// Replaces the C library's mmap, munmap and mremap.  Only the preloaded library has this file.
// Before CountMappings() each function only makes its system call.
#include "allocator/overrides/mmap_override.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

// Linux has it since 5.7; an old C library does not define it.
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#include "allocator/host/code_extent.h"
#include "tracker/base/check.h"
#include "tracker/heap_client.h"
#include "tracker/mapped_memory.h"

namespace allomon::internal {
namespace {

std::atomic<bool> g_counts{false};
CodeExtent g_ours;  // written before g_counts is true

// Whether a call that returns to this address comes from the host and is to be counted.
bool IsCounted(uintptr_t return_address) {
  return __builtin_expect(g_counts.load(std::memory_order_acquire), 0) &&
         !g_ours.Contains(return_address);
}

void* AsPointer(long result) { return reinterpret_cast<void*>(result); }

void* MapBySystem(void* address, size_t size_bytes, int protection, int flags, int fd,
                  off_t offset) {
  return AsPointer(syscall(SYS_mmap, address, size_bytes, protection, flags, fd, offset));
}

bool IsMemory(int protection, int flags) {
  constexpr int kKind = MAP_ANONYMOUS | MAP_PRIVATE;
  return (flags & kKind) == kKind && (protection & (PROT_READ | PROT_WRITE)) != 0;
}

__attribute__((noinline)) void* Map(void* address, size_t size_bytes, int protection, int flags,
                                    int fd, off_t offset, const FrameState& caller) {
  if (!IsCounted(caller.pc)) {
    return MapBySystem(address, size_bytes, protection, flags, fd, offset);
  }
  const MappedMemory::Moment before = MappedMemory::Now();
  void* const start = MapBySystem(address, size_bytes, protection, flags, fd, offset);
  if (start == MAP_FAILED) return start;
  if (IsMemory(protection, flags)) {
    MappedMemory::Mapped(start, size_bytes, before, caller);
  } else {
    MappedMemory::MappedOther(start, size_bytes, before);
  }
  return start;
}

__attribute__((noinline)) int Unmap(void* start, size_t size_bytes, uintptr_t return_address) {
  const bool counted = IsCounted(return_address);
  const MappedMemory::Moment before = counted ? MappedMemory::Now() : 0;
  const int result = static_cast<int>(syscall(SYS_munmap, start, size_bytes));
  if (counted && result == 0) MappedMemory::Unmapped(start, size_bytes, before);
  return result;
}

void* RemapBySystem(void* old_start, size_t old_bytes, size_t new_bytes, int flags, void* wanted) {
  return AsPointer(syscall(SYS_mremap, old_start, old_bytes, new_bytes, flags, wanted));
}

// A mapping of another size counts again, as after realloc.  (With MREMAP_DONTUNMAP the address
// space stays, and the memory moves.)  No old bytes means a second mapping of the same memory,
// which only shared memory allows.
void* Remap(void* old_start, size_t old_bytes, size_t new_bytes, int flags, void* wanted,
            const FrameState& caller) {
  if (!IsCounted(caller.pc)) return RemapBySystem(old_start, old_bytes, new_bytes, flags, wanted);
  const bool is_other = old_bytes == 0 || MappedMemory::IsOther(old_start, old_bytes);
  const MappedMemory::Moment before = MappedMemory::Now();
  void* const start = RemapBySystem(old_start, old_bytes, new_bytes, flags, wanted);
  if (start == MAP_FAILED) return start;
  MappedMemory::Unmapped(old_start, old_bytes, before);
  if (is_other) {
    MappedMemory::MappedOther(start, new_bytes, before);
    if ((flags & MREMAP_DONTUNMAP) != 0) MappedMemory::MappedOther(old_start, old_bytes, before);
  } else {
    MappedMemory::Mapped(start, new_bytes, before, caller);
  }
  return start;
}

}  // namespace

void CountMappings() {
  ALLOMON_DCHECK("inv.mappings.once", !g_counts.load(std::memory_order_relaxed));
  g_ours = OwnCodeExtent();
  ALLOMON_DCHECK("inv.host.extent", g_ours.Contains(reinterpret_cast<uintptr_t>(&CountMappings)));
  MappedMemory::Begin();
  g_counts.store(true, std::memory_order_release);
}

}  // namespace allomon::internal

#define ALLOMON_EXPORT __attribute__((visibility("default"), noinline))

using allomon::internal::Map;
using allomon::internal::Remap;
using allomon::internal::Unmap;

extern "C" {

ALLOMON_EXPORT void* mmap(void* address, size_t size_bytes, int protection, int flags, int fd,
                          off_t offset) noexcept {
  return Map(address, size_bytes, protection, flags, fd, offset, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT void* mmap64(void* address, size_t size_bytes, int protection, int flags, int fd,
                            off64_t offset) noexcept {
  return Map(address, size_bytes, protection, flags, fd, offset, ALLOMON_CALLER_FRAME());
}

ALLOMON_EXPORT int munmap(void* start, size_t size_bytes) noexcept {
  return Unmap(start, size_bytes, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

ALLOMON_EXPORT void* mremap(void* old_start, size_t old_bytes, size_t new_bytes, int flags,
                            ...) noexcept {
  void* wanted = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list rest;
    va_start(rest, flags);
    wanted = va_arg(rest, void*);
    va_end(rest);
  }
  return Remap(old_start, old_bytes, new_bytes, flags, wanted, ALLOMON_CALLER_FRAME());
}

}  // extern "C"

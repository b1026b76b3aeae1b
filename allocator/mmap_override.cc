// mmap, munmap and mremap, in front of the C library's.  Only the preloaded library has this file.
// Before CountMappings() each is its system call and nothing else.
#include "allocator/mmap_override.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "allocator/code_extent.h"
#include "tracker/heap_client.h"
#include "tracker/mapped_memory.h"

namespace allomon::internal {
namespace {

std::atomic<bool> g_counts{false};
CodeExtent g_ours;  // written before g_counts is true

// Whether a call that returns to that address is one of the host's, and is to be counted.
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
  // Whatever is mapped there takes the place of what was.
  if ((flags & MAP_FIXED) != 0) MappedMemory::Unmapped(address, size_bytes);
  void* const start = MapBySystem(address, size_bytes, protection, flags, fd, offset);
  if (start != MAP_FAILED && IsMemory(protection, flags)) {
    MappedMemory::Mapped(start, size_bytes, caller);
  }
  return start;
}

// As realloc does, a mapping of another size counts again.  What kind of memory it is was known
// when it was made: only what is followed, or new in a profile of all allocations, is counted.
void* Remap(void* old_start, size_t old_bytes, size_t new_bytes, int flags, void* wanted,
            const FrameState& caller) {
  const bool counted = IsCounted(caller.pc);
  if (counted) MappedMemory::Unmapped(old_start, old_bytes);
  if (counted && (flags & MREMAP_FIXED) != 0) MappedMemory::Unmapped(wanted, new_bytes);
  void* const start =
      AsPointer(syscall(SYS_mremap, old_start, old_bytes, new_bytes, flags, wanted));
  if (!counted) return start;
  if (start != MAP_FAILED) {
    MappedMemory::Mapped(start, new_bytes, caller);
  } else if (old_bytes != 0) {
    MappedMemory::Mapped(old_start, old_bytes, caller);
  }
  return start;
}

}  // namespace

void CountMappings() {
  g_ours = OwnCodeExtent();
  MappedMemory::Begin();
  g_counts.store(true, std::memory_order_release);
}

}  // namespace allomon::internal

#define ALLOMON_EXPORT __attribute__((visibility("default"), noinline))

using allomon::internal::IsCounted;
using allomon::internal::Map;
using allomon::internal::Remap;

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
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (IsCounted(caller)) allomon::MappedMemory::Unmapped(start, size_bytes);
  return static_cast<int>(syscall(SYS_munmap, start, size_bytes));
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

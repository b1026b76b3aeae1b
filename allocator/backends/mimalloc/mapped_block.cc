#include "mapped_block.h"

#include <errno.h>
#include <sys/mman.h>

#include "mapped_table.h"

namespace allomon::backend {
namespace {

constexpr size_t kPageBytes = 4096;

uintptr_t AddressOf(const void* block) { return reinterpret_cast<uintptr_t>(block); }

// 0 if the size is so large that its pages, or their sum with the alignment, would wrap around.
size_t PagesOf(size_t alignment_bytes, size_t size_bytes) {
  if (size_bytes > PTRDIFF_MAX - kPageBytes || alignment_bytes > PTRDIFF_MAX) return 0;
  return (size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

void* Map(size_t size_bytes) {
  void* const pages =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

// Gives back what lies before and behind the first multiple of the alignment.
uintptr_t Trim(uintptr_t pages, size_t mapped_bytes, size_t alignment_bytes, size_t size_bytes) {
  const uintptr_t start = (pages + alignment_bytes - 1) & ~(alignment_bytes - 1);
  const size_t before_bytes = start - pages;
  const size_t behind_bytes = mapped_bytes - before_bytes - size_bytes;
  if (before_bytes > 0) munmap(reinterpret_cast<void*>(pages), before_bytes);
  if (behind_bytes > 0) munmap(reinterpret_cast<void*>(start + size_bytes), behind_bytes);
  return start;
}

bool Enter(uintptr_t start, size_t size_bytes) {
  return MayBeMapped(reinterpret_cast<void*>(start)) && EnterMapping(start, size_bytes);
}

MapResult RefuseMapping(MapResult why) {
  errno = ENOMEM;
  return why;
}

}  // namespace

MapResult MapBlock(size_t alignment_bytes, size_t size_bytes, void** block) {
  const size_t bytes = PagesOf(alignment_bytes, size_bytes);
  if (bytes == 0) return RefuseMapping(MapResult::kNoMemory);
  const size_t slack_bytes = alignment_bytes > kPageBytes ? alignment_bytes : 0;
  void* const pages = Map(bytes + slack_bytes);
  if (pages == nullptr) return RefuseMapping(MapResult::kNoMemory);
  uintptr_t start = AddressOf(pages);
  if (slack_bytes > 0) start = Trim(start, bytes + slack_bytes, alignment_bytes, bytes);
  *block = reinterpret_cast<void*>(start);
  if (Enter(start, bytes)) return MapResult::kMapped;
  munmap(*block, bytes);
  return RefuseMapping(MapResult::kMisplaced);
}

size_t MappedBytes(const void* block) { return BytesOfMapping(AddressOf(block)); }

// The block leaves the table first: as soon as it is unmapped, another thread may get its place.
bool UnmapBlock(void* block) {
  const size_t bytes = LeaveMapping(AddressOf(block));
  if (bytes == 0) return false;
  const int kept_errno = errno;
  munmap(block, bytes);
  errno = kept_errno;
  return true;
}

void* RemapBlock(void* block, size_t size_bytes) {
  const size_t bytes = PagesOf(kPageBytes, size_bytes);
  if (bytes == 0) return nullptr;
  const int kept_errno = errno;
  const size_t old_bytes = LeaveMapping(AddressOf(block));
  void* moved = mremap(block, old_bytes, bytes, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED && Enter(AddressOf(moved), bytes)) return moved;
  // Moved below 64 TiB, which the kernel does when there is no room above it: back again.
  if (moved != MAP_FAILED) mremap(moved, bytes, old_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block);
  EnterMapping(AddressOf(block), old_bytes);
  errno = kept_errno;
  return nullptr;
}

}  // namespace allomon::backend

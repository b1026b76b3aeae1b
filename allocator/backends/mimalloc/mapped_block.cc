#include "mapped_block.h"

#include <errno.h>
#include <sys/mman.h>

#include "mapped_table.h"
#include "tracker/base/check.h"
#include "tracker/base/page_size.h"

namespace allomon::backend {
namespace {

using internal::PageBytes;

uintptr_t AddressOf(const void* block) { return reinterpret_cast<uintptr_t>(block); }

// Returns 0 if the size is so large that its pages, or their sum with the alignment, would wrap
// around.
size_t PagesOf(size_t alignment_bytes, size_t size_bytes) {
  if (size_bytes > PTRDIFF_MAX - PageBytes() || alignment_bytes > PTRDIFF_MAX) return 0;
  return internal::RoundUpToPage(size_bytes);
}

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

uintptr_t AddressOrZero(void* pages) { return pages == MAP_FAILED ? 0 : AddressOf(pages); }

uintptr_t Map(size_t size_bytes) {
  return AddressOrZero(mmap(nullptr, size_bytes, kReadWrite, kAnonymous, -1, 0));
}

// Unmaps the memory before the first multiple of the alignment and after the block.
uintptr_t Trim(uintptr_t pages, size_t mapped_bytes, size_t alignment_bytes, size_t size_bytes) {
  const uintptr_t start = (pages + alignment_bytes - 1) & ~(alignment_bytes - 1);
  ALLOMON_DCHECK_LE("inv.mapped.pages", start + size_bytes, pages + mapped_bytes);
  const size_t before_bytes = start - pages;
  const size_t behind_bytes = mapped_bytes - before_bytes - size_bytes;
  if (before_bytes > 0) munmap(reinterpret_cast<void*>(pages), before_bytes);
  if (behind_bytes > 0) munmap(reinterpret_cast<void*>(start + size_bytes), behind_bytes);
  return start;
}

// The slack is mapped without access, so the kernel does not count it as memory that may be needed.
uintptr_t MapAligned(size_t alignment_bytes, size_t size_bytes) {
  const size_t slack_bytes = size_bytes + alignment_bytes;
  const uintptr_t pages = AddressOrZero(mmap(nullptr, slack_bytes, PROT_NONE, kAnonymous, -1, 0));
  if (pages == 0) return 0;
  const uintptr_t start = Trim(pages, slack_bytes, alignment_bytes, size_bytes);
  void* const block = reinterpret_cast<void*>(start);
  if (mmap(block, size_bytes, kReadWrite, kAnonymous | MAP_FIXED, -1, 0) != MAP_FAILED) {
    return start;
  }
  munmap(block, size_bytes);
  return 0;
}

bool Enter(uintptr_t start, size_t size_bytes) {
  return MayBeMapped(reinterpret_cast<void*>(start)) && EnterMapping(start, size_bytes);
}

MapResult NoMemory() {
  errno = ENOMEM;
  return MapResult::kNoMemory;
}

}  // namespace

MapResult MapBlock(size_t alignment_bytes, size_t size_bytes, void** block) {
  const size_t bytes = PagesOf(alignment_bytes, size_bytes);
  if (bytes == 0) return NoMemory();
  const uintptr_t start =
      alignment_bytes > PageBytes() ? MapAligned(alignment_bytes, bytes) : Map(bytes);
  if (start == 0) return NoMemory();
  *block = reinterpret_cast<void*>(start);
  if (Enter(start, bytes)) return MapResult::kMapped;
  munmap(*block, bytes);
  return MapResult::kMisplaced;
}

// The table does not look at bit 46.
size_t MappedBytes(const void* block) {
  return MayBeMapped(block) ? BytesOfMapping(AddressOf(block)) : 0;
}

// The block leaves the table first: as soon as it is unmapped, another thread may get its
// addresses.
bool UnmapBlock(void* block) {
  const size_t bytes = LeaveMapping(AddressOf(block));
  if (bytes == 0) return false;
  const int kept_errno = errno;
  munmap(block, bytes);
  errno = kept_errno;
  return true;
}

void* RemapBlock(void* block, size_t size_bytes) {
  const size_t bytes = PagesOf(PageBytes(), size_bytes);
  if (bytes == 0) return nullptr;
  const int kept_errno = errno;
  const size_t old_bytes = LeaveMapping(AddressOf(block));
  ALLOMON_DCHECK_NE("inv.mapped.cell", old_bytes, 0u);
  void* moved = mremap(block, old_bytes, bytes, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED && Enter(AddressOf(moved), bytes)) return moved;
  // The kernel moved the block below 64 TiB because there was no room above: moves it back.
  if (moved != MAP_FAILED) mremap(moved, bytes, old_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block);
  [[maybe_unused]] const bool is_back = EnterMapping(AddressOf(block), old_bytes);
  ALLOMON_DCHECK("inv.mapped.cell", is_back);
  errno = kept_errno;
  return nullptr;
}

}  // namespace allomon::backend

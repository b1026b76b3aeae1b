#include "allocator/host/page_move.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/base/page_size.h"

namespace allomon::internal {
namespace {

bool StartsPage(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % PageBytes() == 0;
}

bool IsMapped(void* page) { return madvise(page, PageBytes(), MADV_NORMAL) == 0; }

// The kernel unmaps the target before it finds that it cannot move the pages.  The target's
// addresses are free and belong to the sampled range, so they can be mapped again: nothing else
// maps there.
void MapAgain(void* to, size_t size_bytes) {
  while (mmap(to, size_bytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    sched_yield();
  }
}

// Asks the kernel to map as much once more.  A move unmaps its target before it asks for that room:
// where a program has lowered its limit of addresses below what it has, the target would stay
// unmapped.
bool HasRoomFor(size_t size_bytes) {
  void* const room = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return room != MAP_FAILED && munmap(room, size_bytes) == 0;
}

// MREMAP_DONTUNMAP keeps the old place mapped, reading as zero, so it can be freed as usual.
bool MovePages(void* to, void* from, size_t size_bytes) {
  const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (mremap(from, size_bytes, size_bytes, flags, to) != MAP_FAILED) return true;
  if (!IsMapped(to)) MapAgain(to, size_bytes);
  return false;
}

}  // namespace

void MoveContents(void* to, void* from, size_t size_bytes) {
  const ErrnoKeeper keeper;
  ALLOMON_DCHECK("inv.move.apart", static_cast<char*>(to) + size_bytes <= from ||
                                       static_cast<char*>(from) + size_bytes <= to);
  size_t moved_bytes = 0;
  if (size_bytes > kMovedBytes && StartsPage(to) && StartsPage(from)) {
    const size_t whole_bytes = size_bytes / PageBytes() * PageBytes();
    if (HasRoomFor(whole_bytes) && MovePages(to, from, whole_bytes)) moved_bytes = whole_bytes;
  }
  memcpy(static_cast<char*>(to) + moved_bytes, static_cast<const char*>(from) + moved_bytes,
         size_bytes - moved_bytes);
}

}  // namespace allomon::internal

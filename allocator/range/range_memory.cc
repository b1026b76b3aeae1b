#include "allocator/range/range_memory.h"

#include <sys/mman.h>

#include "allocator/host/high_reservation.h"

namespace allomon::internal {
namespace {

// A probe is small, so that it does not touch a mapping next to the range.
constexpr size_t kProbeBytes = size_t{2} << 20;

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// Whether a mapping without access holds the range's place.  This is done only if the kernel, or a
// sanitizer, puts mappings elsewhere than asked.
bool g_held = false;
size_t g_committed_bytes = 0;

void* AsPointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

// Whether the kernel puts a mapping at `base` if asked to.
bool IsFree(uintptr_t base) {
  void* const probe = mmap(AsPointer(base), kProbeBytes, PROT_NONE, kAnonymous, -1, 0);
  if (probe == MAP_FAILED) return false;
  munmap(probe, kProbeBytes);
  return probe == AsPointer(base);
}

// The host may lower or raise its limit at any time, so the limit is read repeatedly.  It is not
// read for each span, since the host may also have installed a seccomp filter that kills at
// getrlimit().  The range does not grow while it is refused, so refusals are counted.
bool IsAllowed(size_t range_bytes) {
  constexpr size_t kAskEveryBytes = size_t{4} << 20;
  constexpr uint32_t kMostRefusals = 1024;
  static size_t allowed_bytes = 0;
  static size_t ask_at_bytes = 0;
  static uint32_t refusals = 0;  // since the limit was read
  if (range_bytes >= ask_at_bytes || refusals == kMostRefusals) {
    allowed_bytes = AllowedReservationBytes();
    ask_at_bytes = range_bytes + kAskEveryBytes;
    refusals = 0;
  }
  if (range_bytes <= allowed_bytes) return true;
  ++refusals;
  return false;
}

}  // namespace

uintptr_t ChooseRangePlace(size_t size_bytes) {
  const uintptr_t base = RandomRangeBase();
  g_held = !IsFree(base);
  if (!g_held) return base;
  return size_bytes <= AllowedReservationBytes() ? ReserveHigh(base, size_bytes) : 0;
}

void GiveUpRangePlace(uintptr_t base, size_t size_bytes) {
  if (g_held) ReleaseHigh(base, size_bytes);
}

bool CommitRangePages(uintptr_t start, size_t size_bytes) {
  if (!IsAllowed(g_committed_bytes + size_bytes)) return false;
  const int fixed = g_held ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  void* const pages =
      mmap(AsPointer(start), size_bytes, PROT_READ | PROT_WRITE, kAnonymous | fixed, -1, 0);
  if (pages == MAP_FAILED) return false;
  if (pages != AsPointer(start)) {  // a kernel before 4.17 treats the flag as a hint
    munmap(pages, size_bytes);
    return false;
  }
  g_committed_bytes += size_bytes;
  return true;
}

}  // namespace allomon::internal

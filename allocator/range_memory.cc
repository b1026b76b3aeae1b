#include "allocator/range_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "allocator/high_reservation.h"

namespace allomon::internal {
namespace {

constexpr uintptr_t kHighBase = uintptr_t{1} << kHighBit;

// Where a range may start: from 64 TiB, 19 TiB wide, so that it ends below 84 TiB, where
// reservations begin (high_reservation.cc).  The kernel's own choices come from the top,
// 127 TiB; mimalloc's hints lie in 2 .. 30 TiB.
constexpr uintptr_t kBaseSpreadBytes = uintptr_t{19} << 40;
constexpr uintptr_t kBaseStepBytes = uintptr_t{2} << 20;

constexpr int kAnonymous = MAP_PRIVATE | MAP_ANONYMOUS;

// Whether the place is held by a mapping without access: only where the kernel, or a
// sanitizer, would not put one where we asked.
bool g_held = false;
size_t g_committed_bytes = 0;

void* AsPointer(uintptr_t address) { return reinterpret_cast<void*>(address); }

// Without random numbers (early in boot) the base is fixed, which is still correct.
uintptr_t RandomBase() {
  return kHighBase + KernelRandomBits() % (kBaseSpreadBytes / kBaseStepBytes) * kBaseStepBytes;
}

bool IsHigh(uintptr_t base, size_t size_bytes) {
  return (base >> kHighBit & 1) != 0 && ((base + size_bytes - 1) >> kHighBit & 1) != 0 &&
         (base >> (kHighBit + 1)) == ((base + size_bytes - 1) >> (kHighBit + 1));
}

// Whether the range may take so much in all: an eighth of what the program may.
bool IsWithinLimit(size_t size_bytes) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  return size_bytes <= limit.rlim_cur / 8;
}

// Whether a mapping is put where it is asked for.
bool IsFree(uintptr_t base) {
  void* const probe = mmap(AsPointer(base), kBaseStepBytes, PROT_NONE, kAnonymous, -1, 0);
  if (probe == MAP_FAILED) return false;
  munmap(probe, kBaseStepBytes);
  return probe == AsPointer(base);
}

// Without MAP_NORESERVE: pages are accounted for when they are made writable, so that the
// kernel refuses a block that is larger than the machine, as it would refuse the backend's.
uintptr_t Hold(size_t size_bytes) {
  if (!IsWithinLimit(size_bytes)) return 0;
  void* const start = mmap(nullptr, size_bytes, PROT_NONE, kAnonymous, -1, 0);
  if (start == MAP_FAILED) return 0;
  const uintptr_t base = reinterpret_cast<uintptr_t>(start);
  if (IsHigh(base, size_bytes)) return base;
  munmap(start, size_bytes);
  return 0;
}

}  // namespace

uintptr_t ChooseRangePlace(size_t size_bytes) {
  const uintptr_t base = RandomBase();
  g_held = !IsFree(base);
  return g_held ? Hold(size_bytes) : base;
}

void GiveUpRangePlace(uintptr_t base, size_t size_bytes) {
  if (g_held) munmap(AsPointer(base), size_bytes);
}

bool CommitRangePages(uintptr_t start, size_t size_bytes) {
  if (!IsWithinLimit(g_committed_bytes + size_bytes)) return false;
  const int fixed = g_held ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  void* const pages =
      mmap(AsPointer(start), size_bytes, PROT_READ | PROT_WRITE, kAnonymous | fixed, -1, 0);
  if (pages == MAP_FAILED) return false;
  if (pages != AsPointer(start)) {  // a kernel before 4.17 takes the flag for a hint
    munmap(pages, size_bytes);
    return false;
  }
  g_committed_bytes += size_bytes;
  return true;
}

}  // namespace allomon::internal

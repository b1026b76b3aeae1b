#include "allocator/high_reservation.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>

namespace allomon::internal {
namespace {

// Where a reservation may start: behind the last address of the sampled range, which does not
// hold its place (range_memory.h), 1 TiB wide, and below the 85 TiB where Linux loads
// position-independent executables.
constexpr uintptr_t kLowestBase = uintptr_t{84} << 40;
constexpr uintptr_t kBaseSpreadBytes = uintptr_t{1} << 40;
constexpr uintptr_t kBaseStepBytes = uintptr_t{64} << 10;

// Without random numbers the base is fixed, which is still correct.
uintptr_t RandomBase() {
  return kLowestBase + KernelRandomBits() % (kBaseSpreadBytes / kBaseStepBytes) * kBaseStepBytes;
}

bool IsHigh(uintptr_t base, size_t size_bytes) {
  return (base >> kHighBit & 1) != 0 && ((base + size_bytes - 1) >> kHighBit & 1) != 0 &&
         (base >> (kHighBit + 1)) == ((base + size_bytes - 1) >> (kHighBit + 1));
}

}  // namespace

uint64_t KernelRandomBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits)) bits = 0;
  return bits;
}

// Without MAP_NORESERVE: pages are accounted for when they are made writable, so that the
// kernel refuses a block that is larger than the machine, as it would refuse the backend's.
uintptr_t ReserveHigh(size_t size_bytes) {
  void* hint = reinterpret_cast<void*>(RandomBase());
  void* start = mmap(hint, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return 0;
  const uintptr_t base = reinterpret_cast<uintptr_t>(start);
  if (IsHigh(base, size_bytes)) return base;
  munmap(start, size_bytes);
  return 0;
}

void ReleaseHigh(uintptr_t base, size_t size_bytes) {
  munmap(reinterpret_cast<void*>(base), size_bytes);
}

size_t AllowedReservationBytes() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur / 8;
}

}  // namespace allomon::internal

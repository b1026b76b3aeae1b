#include "allocator/host/high_reservation.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "tracker/base/check.h"
#include "tracker/base/page_size.h"

namespace allomon::internal {
namespace {

constexpr uintptr_t kTebibyte = uintptr_t{1} << 40;
constexpr uintptr_t kRangeBegin = uintptr_t{1} << kHighBit;
constexpr uintptr_t kRangeSpreadBytes = 19 * kTebibyte;
constexpr uintptr_t kBesideRange = kRangeBegin + kRangeSpreadBytes + kTebibyte;

constexpr uintptr_t kBaseStepBytes = uintptr_t{2} << 20;

}  // namespace

#if !defined(__x86_64__)
namespace {

// The kernel takes a hint that is free, and no hint beyond the address space.
bool FindHighAddress() {
  void* const hint = reinterpret_cast<void*>(RandomBaseBesideRange());
  void* const page = mmap(hint, PageBytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  munmap(page, PageBytes());
  return IsHigh(reinterpret_cast<uintptr_t>(page), 1);
}

}  // namespace

// Threads that ask for the first time at once find the same answer.
bool HasHighAddresses() {
  enum : int { kUnknown, kNo, kYes };
  static std::atomic<int> known{kUnknown};
  int answer = known.load(std::memory_order_relaxed);
  if (answer == kUnknown) {
    answer = FindHighAddress() ? kYes : kNo;
    known.store(answer, std::memory_order_relaxed);
  }
  return answer == kYes;
}
#endif

bool IsHigh(uintptr_t base, size_t size_bytes) {
  const uintptr_t last = base + size_bytes - 1;
  return (base >> kHighBit & 1) != 0 && base >> kHighBit == last >> kHighBit;
}

// Makes the system call directly, as tracker/core/control.cc does.
uint64_t KernelRandomBits() {
  uint64_t bits = 0;
  if (syscall(SYS_getrandom, &bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits)) bits = 0;
  return bits;
}

// If there are no random numbers the bases are fixed, which is still correct.
uintptr_t RandomRangeBase() {
  const uintptr_t base =
      kRangeBegin + KernelRandomBits() % (kRangeSpreadBytes / kBaseStepBytes) * kBaseStepBytes;
  ALLOMON_DCHECK("inv.range.high", IsHigh(base, kTebibyte) && base + kTebibyte <= kBesideRange);
  return base;
}
// As fine as the kernel's own random placement: 28 bits in a tebibyte of pages of 4 KiB.
uintptr_t RandomBaseBesideRange() {
  return kBesideRange + KernelRandomBits() % kTebibyte / PageBytes() * PageBytes();
}

// MAP_NORESERVE is not used.  Pages are accounted for when they are made writable, so the kernel
// refuses a block that is larger than the machine, as it refuses such a block to the backend.
uintptr_t ReserveHigh(uintptr_t wanted_base, size_t size_bytes) {
  void* hint = reinterpret_cast<void*>(wanted_base);
  void* start = mmap(hint, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return 0;
  const uintptr_t base = reinterpret_cast<uintptr_t>(start);
  if (IsHigh(base, size_bytes)) return base;
  munmap(start, size_bytes);
  return 0;
}

void ReleaseHigh(uintptr_t base, size_t size_bytes) {
  ALLOMON_DCHECK("inv.range.high", IsHigh(base, size_bytes));
  munmap(reinterpret_cast<void*>(base), size_bytes);
}

size_t AllowedReservationBytes() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur / 8;
}

}  // namespace allomon::internal

#include "allocator/sampled_range.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <mutex>

namespace allomon::internal {
namespace {

SampledRange g_range;

constexpr uintptr_t kHighBase = uintptr_t{1} << SampledRange::kHighBit;

// Where a range may start: from 64 TiB up to where Linux loads position-independent
// executables (85 TiB), 20 TiB wide.
constexpr uintptr_t kBaseSpreadBytes = uintptr_t{20} << 40;
constexpr uintptr_t kBaseStepBytes = uintptr_t{2} << 20;

constexpr size_t kLargestReservation = size_t{1} << 40;
constexpr size_t kSmallestReservation = size_t{16} << 20;
// Small slots never need more: 16 GiB is 256 million samples of 64 bytes.
constexpr size_t kLargestSlotArea = size_t{16} << 30;

size_t g_max_reservation = kLargestReservation;

// A reservation counts against `ulimit -v`, which is there for the program: take an
// eighth of it at most.
size_t AllowedReservation() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return g_max_reservation;
  }
  return limit.rlim_cur / 8 < g_max_reservation ? limit.rlim_cur / 8 : g_max_reservation;
}

uintptr_t RandomBase() {
  uint64_t bits = 0;
  // Without random numbers (early in boot) the base is fixed, which is still correct.
  if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits)) bits = 0;
  return kHighBase + bits % (kBaseSpreadBytes / kBaseStepBytes) * kBaseStepBytes;
}

bool IsHigh(uintptr_t base, size_t size_bytes) {
  return (base >> SampledRange::kHighBit & 1) != 0 &&
         ((base + size_bytes - 1) >> SampledRange::kHighBit & 1) != 0 &&
         (base >> (SampledRange::kHighBit + 1)) ==
             ((base + size_bytes - 1) >> (SampledRange::kHighBit + 1));
}

// Address space without access, where the high bit is set; 0 if there is none.  Without
// MAP_NORESERVE: pages are accounted for when they are made writable, so that the kernel
// refuses a block that is larger than the machine, as it would refuse the backend's.
uintptr_t ReserveHigh(size_t size_bytes) {
  void* hint = reinterpret_cast<void*>(RandomBase());
  void* start = mmap(hint, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return 0;
  const uintptr_t base = reinterpret_cast<uintptr_t>(start);
  if (IsHigh(base, size_bytes)) return base;
  munmap(start, size_bytes);
  return 0;
}

}  // namespace

SampledRange& TheSampledRange() { return g_range; }

void SampledRange::SetMaxReservationForTesting(size_t bytes) { g_max_reservation = bytes; }

bool SampledRange::EnsureReservedSlow() {
  std::lock_guard<SpinLock> hold(growth_lock_);
  if (tried_.load(std::memory_order_relaxed)) return base_.load(std::memory_order_relaxed) != 0;
  bool reserved = false;
  for (size_t bytes = kLargestReservation; bytes >= kSmallestReservation && !reserved; bytes /= 4) {
    reserved = bytes <= AllowedReservation() && Reserve(bytes);
  }
  tried_.store(true, std::memory_order_release);
  return reserved;
}

// The range is laid out as: slots, large runs, metadata of both.
bool SampledRange::Reserve(size_t size_bytes) {
  const uintptr_t reserved = ReserveHigh(size_bytes);
  if (reserved == 0) return false;
  // Runs are aligned to granules, and slots to the largest slot.
  constexpr size_t kAlign = size_t{1} << 20;
  const uintptr_t base = (reserved + kAlign - 1) & ~(kAlign - 1);
  const size_t slots = size_bytes / 4 < kLargestSlotArea ? size_bytes / 4 : kLargestSlotArea;
  const size_t runs = size_bytes / 2;
  const uintptr_t slot_meta = base + slots + runs;
  const uintptr_t run_meta = slot_meta + SlotClasses::MetaBytes(slots);
  if (run_meta + LargeRuns::MetaBytes(runs) > reserved + size_bytes) {
    munmap(reinterpret_cast<void*>(reserved), size_bytes);
    return false;
  }
  slots_.Init(base, slots, slot_meta);
  runs_.Init(base + slots, runs, run_meta);
  size_bytes_.store(slots + runs, std::memory_order_relaxed);
  // Release pairs with the acquire in Contains() and in Allocate().
  base_.store(base, std::memory_order_release);
  return true;
}

void* SampledRange::Allocate(size_t size_bytes, size_t alignment_bytes, bool* zeroed,
                             HandleWord** word) {
  *zeroed = false;
  if (!tried_.load(std::memory_order_acquire)) EnsureReservedSlow();
  if (base_.load(std::memory_order_acquire) == 0) return nullptr;
  // Near SIZE_MAX, rounding up to a size class would wrap around to a small one.
  if (size_bytes > size_bytes_.load(std::memory_order_relaxed)) return nullptr;
  const uint32_t slot_class = AlignedSlotClass(size_bytes, alignment_bytes);
  if (slot_class < kSlotClasses) return slots_.Allocate(slot_class, growth_lock_, word);
  return runs_.Allocate(size_bytes, alignment_bytes, zeroed, word, growth_lock_);
}

void SampledRange::Release(const void* block, HandleWord* word) {
  if (IsLarge(block)) {
    runs_.Release(word, growth_lock_);
  } else {
    slots_.Release(word);
  }
}

size_t SampledRange::UsableBytes(const void* block) const {
  return IsLarge(block) ? runs_.RunBytesOf(block) : slots_.SlotBytesOf(block);
}

}  // namespace allomon::internal

// The one range of addresses that holds every nursery of the process, so that "is this object
// young?" is a shift and a comparison with a constant.
//
// The range is constant since each store of a reference asks (README, section 5).  Nothing is
// reserved: each nursery is mapped at a place of the range where no other mapping is.  So the range
// takes nothing from a process with a limit, and serves several copies of the runtime in a process.
#ifndef ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_
#define ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/internal/poison.h"

namespace allomon::gc::internal {

inline constexpr int kYoungBits = 32;
inline constexpr size_t kYoungBytes = size_t{1} << kYoungBits;

// Linux has no mapping there unless a program asks for the very address: executables, libraries,
// stacks and what mmap() chooses lie above 42 TiB or, without PIE, just above 4 MiB.
#if defined(ALLOMON_GC_POISONS) && defined(__x86_64__)
// 32 TiB: above the shadow of the address sanitizer and the hints of mimalloc, which end at 16 and
// 30 TiB.
#define ALLOMON_GC_YOUNG_START 0x200000000000
#else
// 48 GiB: beside the archive of a JVM at 32 GiB, below the 64 GiB that valgrind leaves its
// programs, and below the shadows of the thread and the memory sanitizer, which begin at 1 TiB.
#define ALLOMON_GC_YOUNG_START 0xc00000000
#endif
inline constexpr uintptr_t kYoungStart = ALLOMON_GC_YOUNG_START;
static_assert(kYoungStart % kYoungBytes == 0);

// False for nullptr and for what a Value has besides references.
inline bool IsYoung(const void* address) {
  return reinterpret_cast<uintptr_t>(address) >> kYoungBits == kYoungStart >> kYoungBits;
}

// inv.old.apart: whether the block can be one of the old space.  The range is nobody's own, so a
// backend might use it.
inline bool LiesApart(const void* block, size_t size_bytes) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(block);
  return start + size_bytes <= kYoungStart || start >= kYoungStart + kYoungBytes;
}

// Nurseries are multiples of this.
inline constexpr size_t kSliceBytes = 64 << 10;
constexpr size_t RoundToSlices(size_t bytes) {
  return (bytes + kSliceBytes - 1) / kSliceBytes * kSliceBytes;
}

// Maps a piece of the range, a multiple of kSliceBytes, that reads as zero; nullptr, with errno,
// when there is none.  Thread safe.  Cost: a system call, or one for each nursery that is in the
// way.
char* TakeYoungSlice(size_t size_bytes);
void ReturnYoungSlice(char* start, size_t size_bytes);

// Whether such a piece can be had now; if not, the status tells why, and what helps.
absl::Status ProbeYoungRange(size_t size_bytes);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_

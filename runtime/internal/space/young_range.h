// The one range of addresses that holds every nursery of the process, so that "is this object
// young?" is a shift and a comparison with a constant.
//
// The range is constant because each store of a reference tests it (README, section 5).  Nothing is
// reserved: each nursery is mapped at a place of the range where no other mapping is.  So the range
// costs nothing in a process with a limit on addresses, and several copies of the runtime in a
// process can share it.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_RANGE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_RANGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "runtime/internal/space/poison.h"

namespace allomon::gc::internal {

inline constexpr int kYoungBits = 32;
inline constexpr size_t kYoungBytes = size_t{1} << kYoungBits;

// Linux has no mapping in this range unless a program asks for exactly that address: executables,
// libraries, stacks and mmap()'s choices lie above 42 TiB or, without PIE, just above 4 MiB.
#if defined(ALLOMON_GC_POISONS) && defined(__x86_64__)
// 32 TiB: above the shadow of the address sanitizer and the hints of mimalloc, which end at 16 and
// 30 TiB.
#define ALLOMON_GC_YOUNG_START 0x200000000000
#else
// 48 GiB: past the archive of a JVM at 32 GiB, below the 64 GiB that valgrind leaves its programs,
// and below the shadows of the thread and the memory sanitizer, which begin at 1 TiB.
#define ALLOMON_GC_YOUNG_START 0xc00000000
#endif
inline constexpr uintptr_t kYoungStart = ALLOMON_GC_YOUNG_START;
static_assert(kYoungStart % kYoungBytes == 0);

// Returns false for nullptr and for the words of Values that are no references.
inline bool IsYoung(const void* address) {
  return reinterpret_cast<uintptr_t>(address) >> kYoungBits == kYoungStart >> kYoungBits;
}

// inv.old.apart: whether the block can belong to the old space.  The range is not reserved, so a
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

// Maps a piece of the range, a multiple of kSliceBytes, that reads as zero; nullptr, with errno, on
// failure.  Thread safe.  Cost: one system call, plus one for each nursery in the way.
char* TakeYoungSlice(size_t size_bytes);
// Mostly the next slice is taken at the same place, unless `rests`: then as late as possible.
void ReturnYoungSlice(char* start, size_t size_bytes, bool rests = false);

// Whether a slice of this size can be mapped now; on failure the status tells the reason and the
// remedy.
absl::Status ProbeYoungRange(size_t size_bytes);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_YOUNG_RANGE_H_

// The one range of addresses that holds every nursery of the process, so that "is this object
// young?" is a subtraction and a comparison.
//
// Reserved at first use: 4 GiB of addresses, or less where the process may not have as many.  The
// start and the size are constant afterwards.
#ifndef ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_
#define ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_

#include <cstddef>
#include <cstdint>

namespace allomon::gc::internal {

struct YoungRange {
  uintptr_t start;
  uintptr_t size_bytes;

  // False for nullptr.  Any thread.
  bool Contains(const void* address) const {
    return reinterpret_cast<uintptr_t>(address) - start < size_bytes;
  }
};

extern YoungRange young_range __attribute__((visibility("hidden")));

inline bool IsYoung(const void* address) { return young_range.Contains(address); }

// Takes a piece of the range, a multiple of kSliceBytes; nullptr when the range is used up.  Thread
// safe.  Cost: a scan over the slices, at attach only.
inline constexpr size_t kSliceBytes = 64 << 10;
char* TakeYoungSlice(size_t size_bytes);
void ReturnYoungSlice(char* start, size_t size_bytes);

// For fork: the child gets a consistent list of pieces, and inherits no lock of another thread.
void LockYoungRangeAroundFork();
void UnlockYoungRangeAfterFork();

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_YOUNG_RANGE_H_

// Address space above 64 TiB, where one bit of a pointer says that it may be ours.
//
// Thread safe; may be called inside malloc.
#ifndef ALLOMON_ALLOCATOR_HIGH_RESERVATION_H_
#define ALLOMON_ALLOCATOR_HIGH_RESERVATION_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Set in every address of a reservation, and in none of mimalloc's blocks.
inline constexpr int kHighBit = 46;

// Address space without access at a random place, page-aligned; 0 if there is none.  It takes
// no memory, and counts against `ulimit -v`.
uintptr_t ReserveHigh(size_t size_bytes);
void ReleaseHigh(uintptr_t base, size_t size_bytes);

// What one reservation may take: an eighth of `ulimit -v`, which is there for the program.
size_t AllowedReservationBytes();

// 64 random bits of the kernel's; 0 where it has none yet (early in boot).
uint64_t KernelRandomBits();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HIGH_RESERVATION_H_

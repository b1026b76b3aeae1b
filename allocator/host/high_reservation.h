// Address space above 64 TiB, in which one bit of a pointer says that it may be the allocator's.
//
// Thread safe; may be called inside malloc.
#ifndef ALLOMON_ALLOCATOR_HOST_HIGH_RESERVATION_H_
#define ALLOMON_ALLOCATOR_HOST_HIGH_RESERVATION_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// The bit that is set in every address of a reservation, and in none of mimalloc's blocks up to 16
// MiB.
inline constexpr int kHighBit = 46;

// Whether this process can have such addresses at all.  Kernels of 64-bit Arm with address spaces
// of 39 or 42 bits give none.  Cost: two system calls at the first call there; nothing on x86-64.
#if defined(__x86_64__)
constexpr bool HasHighAddresses() { return true; }
#else
bool HasHighAddresses();
#endif

// Whether the bit is set in all addresses of the piece (inv.range.high).
bool IsHigh(uintptr_t base, size_t size_bytes);

// Random base addresses.  The sampled range, which is a tebibyte at most and reserves nothing,
// starts in 64 .. 83 TiB.  The guard's pool starts in 84 .. 85 TiB, so it cannot lie inside the
// range.  Linux loads position-independent executables from 85 TiB on, and chooses other addresses
// downwards from the top, 127 TiB.  mimalloc's hints lie in 2 .. 30 TiB.
uintptr_t RandomRangeBase();
uintptr_t RandomBaseBesideRange();

// Reserves address space without access, page-aligned, at `wanted_base` or at another place that
// the kernel chooses.  Returns 0 if that place is not high (inv.range.high).  The reservation takes
// no memory, and counts against `ulimit -v`.
uintptr_t ReserveHigh(uintptr_t wanted_base, size_t size_bytes);
void ReleaseHigh(uintptr_t base, size_t size_bytes);

// The bytes that one reservation may take: an eighth of `ulimit -v`.  The rest of the limit belongs
// to the program.
size_t AllowedReservationBytes();

// Returns 64 random bits from the kernel; 0 early in boot, when the kernel has none yet.
uint64_t KernelRandomBits();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_HIGH_RESERVATION_H_

// Mappings of ours that are mostly never touched, in a host that locks its memory.
//
// mlockall(2) makes every page of the process resident, of tables too that are mapped as large as
// they may ever become.  So the library stands in front of it
// (allocator/overrides/mlockall_override.cc), and locks these pages as they are touched.
//
// No allocation, no lock, async-signal-safe; errno is left alone.
#ifndef ALLOMON_TRACKER_BASE_LAZY_PAGES_H_
#define ALLOMON_TRACKER_BASE_LAZY_PAGES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Whether the host has what it maps from now on locked (MCL_FUTURE).
extern std::atomic<bool> later_pages_are_locked;

// As sys::Mmap() for readable and writable memory, whose pages are not made resident where later
// pages are locked.  Less than 256 KiB is mapped as any memory is: that saves three system calls,
// and becomes resident.
void* MapPagesOnFault(void* at, size_t size_bytes, int flags, int fd);
// The same for pages that are not to become resident when all are locked later.  At most a thousand
// such mappings are known; others are as any other.
void* MapLazyPages(void* at, size_t size_bytes, int flags, int fd);
// Before a mapping, or a part of one, is unmapped.
void ForgetLazyPages(const void* pages, size_t size_bytes);

// The first known part of [begin, end); both are `end` where there is none.
struct AddressPart {
  uintptr_t begin;
  uintptr_t end;
};
AddressPart FirstLazyPart(uintptr_t begin, uintptr_t end);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_LAZY_PAGES_H_

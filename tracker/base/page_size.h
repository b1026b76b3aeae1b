// The size of a page.
//
// kLeastPageBytes is for code that is right where pages are larger, too: it looks at memory in
// steps that no page is smaller than, and some of its steps then are in one page.  What the kernel
// maps, protects, moves or takes back begins at a multiple of PageBytes().
//
// Both may be called anywhere: inside malloc and in signal handlers.  Cost: nothing on x86-64;
// elsewhere a call into the C library, and a load there.
#ifndef ALLOMON_TRACKER_BASE_PAGE_SIZE_H_
#define ALLOMON_TRACKER_BASE_PAGE_SIZE_H_

#include <unistd.h>

#include <cstddef>

namespace allomon::internal {

inline constexpr size_t kLeastPageBytes = 4096;

#if defined(__x86_64__)
// All kernels of this processor have pages of that size.
constexpr size_t PageBytes() { return kLeastPageBytes; }
#else
// On 64-bit Arm a kernel is built for pages of 4, 16 or 64 KiB.
inline size_t PageBytes() { return static_cast<size_t>(getpagesize()); }
#endif

// The least multiple of a page that is at least `value`, which is less than SIZE_MAX - PageBytes().
inline size_t RoundUpToPage(size_t value) { return (value + PageBytes() - 1) & ~(PageBytes() - 1); }

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_PAGE_SIZE_H_

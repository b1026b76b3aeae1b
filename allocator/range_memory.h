// Address space and memory of the sampled range.
//
// Nothing is held in advance: a mapping without access would count against RLIMIT_AS, also against
// a limit that the host sets later, and leave the host without memory.  The place is one where
// neither kernel nor libraries put mappings by themselves, and pages are mapped there when they are
// needed. If another mapping is there already, the kernel refuses (MAP_FIXED_NOREPLACE, mmap(2)),
// or puts the pages elsewhere (before 4.17) and they are unmapped; the sample is dropped.
//
// May be called inside malloc.  For the one range of the process, under its growth lock.
#ifndef ALLOMON_ALLOCATOR_RANGE_MEMORY_H_
#define ALLOMON_ALLOCATOR_RANGE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// A place for `size_bytes`, in the half of the address space whose addresses have bit 46 set; 0 if
// there is no room.  Cost: two system calls.
uintptr_t ChooseRangePlace(size_t size_bytes);
// The place is not wanted after all.
void GiveUpRangePlace(uintptr_t base, size_t size_bytes);

// Makes whole pages of the place readable and writable; they read as zero.  False if the
// kernel refuses, or if the range would then take more than an eighth of RLIMIT_AS, which is
// there for the program (getrlimit() is called once in 4 MiB).  Pages are never given back
// (their memory is, with madvise).  Cost: one system call, two where the limit is asked for.
bool CommitRangePages(uintptr_t start, size_t size_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_MEMORY_H_

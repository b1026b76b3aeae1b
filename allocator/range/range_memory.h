// Address space and memory of the sampled range.
//
// Nothing is reserved in advance: a mapping without access would count against RLIMIT_AS, also
// against a limit that the host sets later, and leave the host without memory.  The place is one
// that neither the kernel nor libraries use by themselves, and pages are mapped there when they are
// needed.  If another mapping is already there, the kernel refuses (MAP_FIXED_NOREPLACE, mmap(2)).
// A kernel before 4.17 puts the pages elsewhere instead, and they are unmapped.  In both cases the
// sample is dropped.
//
// May be called inside malloc, under the growth lock of the process's one sampled range.
#ifndef ALLOMON_ALLOCATOR_RANGE_RANGE_MEMORY_H_
#define ALLOMON_ALLOCATOR_RANGE_RANGE_MEMORY_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Chooses a place for `size_bytes`, in the half of the address space whose addresses have bit 46
// set.  Returns 0 if there is no room.  Cost: two system calls.
uintptr_t ChooseRangePlace(size_t size_bytes);
// Gives up a place that will not be used.
void GiveUpRangePlace(uintptr_t base, size_t size_bytes);

// Makes whole pages of the place readable and writable; they read as zero.  Returns false if the
// kernel refuses, or if the range would then take more than an eighth of RLIMIT_AS; the rest
// belongs to the program.  getrlimit() is called once in 4 MiB, and once in 1,024 refusals.  Pages
// are never unmapped; their memory is given back with madvise().  Cost: one system call, and
// another when the limit is read.
bool CommitRangePages(uintptr_t start, size_t size_bytes);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_RANGE_RANGE_MEMORY_H_

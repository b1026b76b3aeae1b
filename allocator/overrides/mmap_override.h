// Counts the memory that the host of a preloaded library maps itself (ALLOMON_MMAP=1).
#ifndef ALLOMON_ALLOCATOR_OVERRIDES_MMAP_OVERRIDE_H_
#define ALLOMON_ALLOCATOR_OVERRIDES_MMAP_OVERRIDE_H_

namespace allomon::internal {

// Starts to count: from now on anonymous private mappings that the host makes by mmap and mremap,
// and may read or write, are samples of their caller (tracker/mapped_memory.h).  Mappings that
// Allomon, its backend and the C library make for themselves do not count.  Memory that is only
// reserved does not count until the host maps it again with access; access given by mprotect(2) is
// not seen.  Not in signal handlers.  Not linked into programs, whose own code cannot be told from
// ours.
__attribute__((weak)) void CountMappings();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_OVERRIDES_MMAP_OVERRIDE_H_

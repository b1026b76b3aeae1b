// The sampling allocator under its own names, for programs that do not want to replace
// malloc: an arena, a test, a language runtime's native side.  //allocator:malloc puts
// the same functions behind malloc, free and operator new.
//
// Same contracts as their C namesakes; blocks of one may not be given to the other's
// free.  Thread safe; may be called in callbacks, not in signal handlers.
#ifndef ALLOMON_ALLOCATOR_ALLOCATOR_H_
#define ALLOMON_ALLOCATOR_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

namespace allomon {

void* SamplingMalloc(size_t size_bytes);
// nullptr also when the product overflows.
void* SamplingCalloc(size_t count, size_t size_bytes);
// Size 0 gives a block too.  A sampled block ends here, and its successor is a new trial.
void* SamplingRealloc(void* block, size_t size_bytes);
// `alignment_bytes` must be a power of two; nullptr otherwise.
void* SamplingAlignedAlloc(size_t alignment_bytes, size_t size_bytes);
void SamplingFree(void* block);
size_t SamplingUsableSize(const void* block);

// The name of the backend that this build stands on.
const char* AllocatorBackendName();

// Frees of sampled blocks that were free already; each was ignored.
uint64_t AllocatorDoubleFrees();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ALLOCATOR_H_

// The sampling allocator under its own names, for programs that do not want to replace malloc: an
// arena, a test, a language runtime's native side.  //allocator:malloc implements malloc, free and
// operator new with the same functions.
//
// Each function has the contract of the C function that it is named after.  A block of one family
// must not be passed to the free function of the other.  Thread safe.  The functions may be called
// in callbacks, not in signal handlers.
#ifndef ALLOMON_ALLOCATOR_ALLOCATOR_H_
#define ALLOMON_ALLOCATOR_ALLOCATOR_H_

#include <cstddef>
#include <cstdint>

namespace allomon {

void* SamplingMalloc(size_t size_bytes);
// Returns nullptr also when the product overflows.
void* SamplingCalloc(size_t count, size_t size_bytes);
// Returns a block for size 0, too.  The life of a sampled block ends here, and the block that
// replaces it is a new trial.
void* SamplingRealloc(void* block, size_t size_bytes);
// `alignment_bytes` must be a power of two; otherwise the result is nullptr.
void* SamplingAlignedAlloc(size_t alignment_bytes, size_t size_bytes);
void SamplingFree(void* block);
size_t SamplingUsableSize(const void* block);

// The name of the backend of this build.
const char* AllocatorBackendName();

// Returns the number of frees of already freed sampled blocks.  Each such free was ignored.
uint64_t AllocatorDoubleFrees();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ALLOCATOR_H_

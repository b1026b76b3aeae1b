// The sizes of the blocks that mimalloc gives for a request, from the size alone.
//
// A class is a multiple of 16 bytes up to 128, then one of four for each power of two: 160, 192,
// 224, 256, 320.  Blocks of more than kMostClassBytes take whole pages of the kernel, because no
// page beyond the requested bytes is touched.  Versions 2.0.9, 3.0.1 and 3.4.3 were found to
// agree in this; size_classes_test asks the one of the build.
//
// Functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_SIZE_CLASSES_H_
#define ALLOMON_TOOLS_HEAP_SIZE_CLASSES_H_

#include <cstdint>

namespace allomon::heap {

inline constexpr uint64_t kMostClassBytes = 32768;
inline constexpr uint64_t kPageBytes = 4096;

// Returns the bytes that a block takes for a request of that size.
uint64_t ClassBytes(uint64_t size_bytes);

// Returns the greatest size that takes less than ClassBytes(size_bytes); 0: none does.
uint64_t NextSmallerSize(uint64_t size_bytes);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_SIZE_CLASSES_H_

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
inline constexpr uint64_t kLargeStepBytes = 4096;
inline constexpr uint64_t kLeastClassBytes = 8;
inline constexpr uint64_t kStepBytes = 16;  // from one class to the next, up to kMostEvenBytes
inline constexpr uint64_t kMostEvenBytes = 128;
inline constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // rounding up does not wrap

// Returns the distance of the size's class to the class below.
inline uint64_t StepOf(uint64_t size_bytes) {
  if (size_bytes <= kMostEvenBytes) return kStepBytes;
  if (size_bytes > kMostClassBytes) return kLargeStepBytes;
  return uint64_t{1} << (63 - __builtin_clzll(size_bytes - 1) - 2);
}

// Returns the bytes that a block takes for a request of that size.
inline uint64_t ClassBytes(uint64_t size_bytes) {
  if (size_bytes <= kLeastClassBytes) return kLeastClassBytes;
  if (size_bytes >= kMostBytes) return size_bytes;
  const uint64_t step = StepOf(size_bytes);
  return (size_bytes + step - 1) / step * step;
}

// Returns the greatest size that takes less than ClassBytes(size_bytes); 0: none does.
inline uint64_t NextSmallerSize(uint64_t size_bytes) {
  if (size_bytes <= kLeastClassBytes) return 0;
  if (size_bytes <= kStepBytes) return kLeastClassBytes;
  return ClassBytes(size_bytes) - StepOf(size_bytes);
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_SIZE_CLASSES_H_

#include "tools/heap/size_classes.h"

namespace allomon::heap {
namespace {

constexpr uint64_t kLeastClassBytes = 8;
constexpr uint64_t kStepBytes = 16;  // from one class to the next, up to kMostEvenBytes
constexpr uint64_t kMostEvenBytes = 128;
constexpr uint64_t kMostBytes = uint64_t{1} << 62;  // rounding up does not wrap

// Returns the distance of the size's class to the class below.
uint64_t StepOf(uint64_t size_bytes) {
  if (size_bytes <= kMostEvenBytes) return kStepBytes;
  if (size_bytes > kMostClassBytes) return kPageBytes;
  return uint64_t{1} << (63 - __builtin_clzll(size_bytes - 1) - 2);
}

}  // namespace

uint64_t ClassBytes(uint64_t size_bytes) {
  if (size_bytes <= kLeastClassBytes) return kLeastClassBytes;
  if (size_bytes >= kMostBytes) return size_bytes;
  const uint64_t step = StepOf(size_bytes);
  return (size_bytes + step - 1) / step * step;
}

uint64_t NextSmallerSize(uint64_t size_bytes) {
  if (size_bytes <= kLeastClassBytes) return 0;
  if (size_bytes <= kStepBytes) return kLeastClassBytes;
  return ClassBytes(size_bytes) - StepOf(size_bytes);
}

}  // namespace allomon::heap

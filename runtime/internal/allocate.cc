#include "runtime/internal/allocate.h"

#include <new>

#include "runtime/internal/mutator.h"

namespace allomon::gc::internal {

namespace {

// More words cannot be addressed; sizes computed from this number do not wrap.
constexpr uint64_t kMostWords = uint64_t{1} << 57;

}  // namespace

char* AllocateYoungSlow(size_t bytes, FrameState caller) {
  return CurrentMutator().AllocateYoungSlow(bytes, AllocationSource::kNormal, caller);
}

Object* MakeSizedSlow(uintptr_t header, uint64_t length, uint64_t words) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  Mutator& mutator = CurrentMutator();
  if (words < kMaxYoungBytes / kWordBytes) {
    const size_t bytes = (words + 2) * kWordBytes;
    char* start = mutator.AllocateYoungSlow(bytes, AllocationSource::kNormal, caller);
    return InitSized(start, header, length, words);
  }
  if (words > kMostWords) throw std::bad_alloc();
  Object* object = mutator.AllocateLargeSlow(words + 2, (words + 1) * kWordBytes,
                                             AllocationSource::kNormal, caller);
  *WordsOf(object) = length;
  HeaderOf(object) = header | kLargeBit;
  return object;
}

}  // namespace allomon::gc::internal

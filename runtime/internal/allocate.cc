#include "runtime/internal/allocate.h"

#include <new>

#include "runtime/internal/heap_core.h"
#include "runtime/internal/mutator.h"
#include "runtime/pinned.h"

namespace allomon::gc::internal {

namespace {

// More words cannot be addressed; sizes computed from this number do not wrap.
constexpr uint64_t kMostWords = uint64_t{1} << 57;

}  // namespace

char* AllocateYoungSlow(size_t bytes, uintptr_t header, FrameState caller) {
  Mutator& mutator = CurrentMutator();
  if (char* const start = mutator.TryNextRun(bytes); start != nullptr) return start;
  return mutator.AllocateYoungSlow(bytes, header, AllocationSource::kNormal, caller);
}

// Born old, in a block of its own.
static Object* MakeLarge(uintptr_t header, uint64_t length, uint64_t words, FrameState caller) {
  if (words > kMostWords) throw std::bad_alloc();
  Object* object = CurrentMutator().AllocateLargeSlow(words + 2, (words + 1) * kWordBytes, header,
                                                      AllocationSource::kNormal, caller);
  *WordsOf(object) = length;
  HeaderOf(object) = header | kLargeBit;
  return object;
}

Object* MakeSettled(uintptr_t header, uint64_t length, uint64_t words) {
  return MakeLarge(header, length, words, ALLOMON_CALLER_FRAME());
}

Object* MakeSizedSlow(uintptr_t header, uint64_t length, uint64_t words) {
  const FrameState caller = ALLOMON_CALLER_FRAME();
  if (words < kMaxYoungBytes / kWordBytes) {
    const size_t bytes = (words + 2) * kWordBytes;
    char* start = AllocateYoungSlow(bytes, header, caller);
    return InitSized(start, header, length, words);
  }
  return MakeLarge(header, length, words, caller);
}

}  // namespace allomon::gc::internal

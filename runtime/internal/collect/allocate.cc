#include "runtime/internal/collect/allocate.h"

#include <algorithm>
#include <new>

#include "runtime/internal/collect/heap_core.h"
#include "runtime/internal/space/memory.h"
#include "runtime/internal/collect/mutator.h"

namespace allomon::gc::internal {

namespace {

// Below this size no pages are taken in advance: memory that was used before already has its pages,
// and asking for them costs more than a small array.
constexpr size_t kLeastTakenBytes = size_t{1} << 20;
// A stop waits for the thread that takes pages.  8 MiB take 2 to 4 ms, and longer when other
// threads compete for the processors.
constexpr size_t kMostTakenBytes = size_t{8} << 20;
// The kernel holds a lock of the process during a call, for which other threads' mmap waits.
constexpr size_t kTakenAtOnceBytes = size_t{256} << 10;

// Marking reads all of an array.  A page that is read before it is written costs two faults, and
// the second one interrupts all processors on which the program runs.
void TakePagesOf(Object* array, uint64_t words) {
  const size_t bytes = std::min(words * kWordBytes, kMostTakenBytes);
  if (bytes < kLeastTakenBytes) return;
  char* const start = reinterpret_cast<char*>(array);
  for (size_t at = 0; at < bytes; at += kTakenAtOnceBytes) {
    TakePages(start + at, std::min(bytes - at, kTakenAtOnceBytes));
  }
}

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
  if (TypeOf(header).kind == Kind::kArray) TakePagesOf(object, words);
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

// The slow paths of safepoints and of allocation, which is a safepoint and the judgement of a
// block.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_SLOW_PATH_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_SLOW_PATH_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// Lets collections and callbacks happen.  Throws the exception of a callback.
void SafepointSlow(Mutator& mutator);

// Takes `bytes` of the nursery, header included; at most kMaxYoungBytes + 8.  The caller writes
// the object and then its header, without another allocation in between.  Throws std::bad_alloc,
// or the exception of a callback; after an exception nothing was allocated.
char* AllocateYoungSlow(Mutator& mutator, size_t bytes, uintptr_t header, AllocationSource source,
                        FrameState caller);
// The same in the old space; nullptr if there is no room in it: the object is then made young.
char* AllocateOldSlow(Mutator& mutator, size_t bytes, uintptr_t header, FrameState caller);
// Makes an object that is born old: zero-filled, the header to be written by the caller.
Object* AllocateLargeSlow(Mutator& mutator, uint64_t words, uint64_t size_bytes, uintptr_t header,
                          AllocationSource source, FrameState caller);
// Judges and reports the out-of-heap bytes of the custom block, which a stack refers to.
void SampleCustom(Mutator& mutator, Object* block, uint64_t bytes, FrameState caller);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_SLOW_PATH_H_

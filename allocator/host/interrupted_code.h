// Examines the code that a signal handler has interrupted.
//
// For signal handlers: allocates nothing, takes no lock.
#ifndef ALLOMON_ALLOCATOR_HOST_INTERRUPTED_CODE_H_
#define ALLOMON_ALLOCATOR_HOST_INTERRUPTED_CODE_H_

#include "tracker/base/frame_state.h"

namespace allomon::internal {

// Whether the code at `caller` may call malloc.  It may not in a signal handler if  - the signal
// interrupted code of this library, malloc for example, or its callees.  In a
//    program that is linked with Allomon its own code cannot be told from ours: then it may not in
//    any handler;
//  - a fault is being handled, so that memory may be damaged.  This is known by the signals of
//    faults being blocked, one of them at least.
// Cost: a capture of the call stack, and 50 ns per frame.
bool MayAllocateHere(const FrameState& caller);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_INTERRUPTED_CODE_H_

// Whether the calling thread interrupted itself in the middle of our code.
//
// Signal handlers; allocates nothing, takes no lock.
#ifndef ALLOMON_ALLOCATOR_INTERRUPTED_CODE_H_
#define ALLOMON_ALLOCATOR_INTERRUPTED_CODE_H_

#include "tracker/base/frame_state.h"

namespace allomon::internal {

// True if the code at `caller` runs in a signal handler, and what the signal interrupted is code of
// this library, malloc for example, or was called by it: malloc may not be called then.  In a
// program that is linked with Allomon its own code cannot be told from ours: true in every handler.
// Cost: a capture of the call stack, and 50 ns per frame.
bool HasInterruptedOurCode(const FrameState& caller);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_INTERRUPTED_CODE_H_

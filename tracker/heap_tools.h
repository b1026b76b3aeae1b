// What a heap may use of the tracker's own machinery, inlined: beside heap_client.h, which is the
// contract.
#ifndef ALLOMON_TRACKER_HEAP_TOOLS_H_
#define ALLOMON_TRACKER_HEAP_TOOLS_H_

#include "tracker/core/thread_state.h"
#include "tracker/heap_client.h"
#include "tracker/sampling/random.h"

namespace allomon::heap_client {

// Random choices of a heap's own.
using internal::DrawGap;
using internal::GapScale;
using internal::RandomBits;

// Whether the function given to CallAtThreadExit() will run when the calling thread ends.  What a
// heap keeps for a thread of which this is false would be lost.
inline bool ThreadExitWillBeSeen() { return internal::CurrentThread().in_registry(); }

}  // namespace allomon::heap_client

#endif  // ALLOMON_TRACKER_HEAP_TOOLS_H_

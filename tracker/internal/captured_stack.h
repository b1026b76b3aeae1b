// The call stack of an allocation: captured, cut and interned.
//
// A thread keeps what its last stack was interned as, beside the serial number of the
// capture (callstack/README.md, "Replay"): a stack that is what it was last time is
// neither hashed nor looked up.  Interned stacks live for ever, so that keeps nothing alive.
#ifndef ALLOMON_TRACKER_INTERNAL_CAPTURED_STACK_H_
#define ALLOMON_TRACKER_INTERNAL_CAPTURED_STACK_H_

#include <cstddef>
#include <cstdint>

#include "tracker/callstack/frame_state.h"
#include "tracker/internal/stack_table.h"

namespace allomon::internal {

struct CapturedStack {
  StackId id = 0;
  StackView view;
};

// The innermost `callstack_size` frames.  Valid until the thread's next call.  Thread safe; not in
// a signal handler.  Cost: the capture's, and if the stack has changed a hash and a probe.
const CapturedStack& CaptureStack(uint32_t callstack_size, const FrameState& caller);

// The innermost frames, neither remembered nor interned: those of the allocator left out.
// Returns their number.  Also in signal handlers.
size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames);

// Frames in [begin, end) are left out of the innermost end.  Before the first sample.
void LeaveOutText(uintptr_t begin, uintptr_t end);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_CAPTURED_STACK_H_

// One step of a walk, from a frame to its caller's, for every frame that the fast path in
// capture.cc does not handle: a pc that no walk has met, and the rare forms of unwind rows.
//
// No allocation, no lock, async-signal-safe.  Cost: 0.1 to 1 us.
#ifndef ALLOMON_TRACKER_CALLSTACK_FRAME_STEP_H_
#define ALLOMON_TRACKER_CALLSTACK_FRAME_STEP_H_

#include "tracker/base/frame_state.h"
#include "tracker/callstack/rule_cache.h"
#include "tracker/callstack/stack_window.h"
#include "tracker/callstack/walk_state.h"

namespace allomon::internal {

// Takes the step by the rule that `cache` has for `lookup_pc`, or finds that rule and stores it
// there.  `lookup_pc` is in the instruction that the frame is executing: one less than a return
// address.
Step StepToCallerSlow(uintptr_t lookup_pc, RuleCache* cache, StackWindow* window,
                      FrameState* frame);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_FRAME_STEP_H_

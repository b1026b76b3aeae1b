// The call stack of an allocation: captured, cut and interned.
//
// A thread keeps its last stack's interned form, beside the serial number of the capture
// (callstack/README.md, "Replay"): a stack that is what it was last time is neither hashed nor
// looked up.  Interned stacks live for ever, so this keeps nothing alive.
#ifndef ALLOMON_TRACKER_CORE_CAPTURED_STACK_H_
#define ALLOMON_TRACKER_CORE_CAPTURED_STACK_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/tls.h"
#include "tracker/callstack/capture.h"
#include "tracker/core/stack_table.h"

namespace allomon::internal {

using CapturedStack = InternedStack;

// A thread's last stack, and the capture that it came from.
struct StackMemo {
  uint64_t serial;  // 0: none
  uint32_t callstack_size;
  CapturedStack stack;
};
extern __thread StackMemo stack_memo __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

// For a stack that is not the memo's, or for none at all.
const CapturedStack& CaptureChangedSlow(uint32_t callstack_size, const FrameState& caller);

// The innermost `callstack_size` frames.  Valid until the thread's next call.  Thread safe; not in
// a signal handler.  Cost: the capture's, and if the stack has changed a hash and a probe.
inline const CapturedStack& CaptureStack(uint32_t callstack_size, const FrameState& caller) {
  // HasSerial() implies the same caller, so the capture that it foresees has the same room.
  const StackMemo& memo = stack_memo;
  const bool is_unchanged =
      memo.serial != 0 && callstack_size == memo.callstack_size && HasSerial(caller, memo.serial);
  return __builtin_expect(is_unchanged, 1) ? memo.stack
                                           : CaptureChangedSlow(callstack_size, caller);
}

// The innermost frames, without the allocator's own; neither remembered nor interned.  Returns
// their number.  Also in signal handlers.
size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames);

// Frames in [begin, end) are left out of the innermost end.  Before the first sample.
void LeaveOutText(uintptr_t begin, uintptr_t end);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CAPTURED_STACK_H_

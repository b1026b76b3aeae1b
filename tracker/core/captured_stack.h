// Captures, cuts and interns the call stack of an allocation.
//
// A thread keeps the interned form of its last stack together with the serial number of the capture
// (callstack/README.md, "Replay").  A stack equal to the last one is neither hashed nor looked up.
// Interned stacks are never freed, so this keeps nothing alive.
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

// Captures a stack that may differ from the memo's; also used if there is no memo.
const CapturedStack& CaptureChangedSlow(uint32_t callstack_size, const FrameState& caller);

// Returns the innermost `callstack_size` frames, valid until the thread's next call.  Thread safe;
// not in a signal handler.  Cost: the capture's, and a hash and a probe if the stack has changed.
inline const CapturedStack& CaptureStack(uint32_t callstack_size, const FrameState& caller) {
  // HasSerial() implies the same caller, so the predicted capture has the same room.
  const StackMemo& memo = stack_memo;
  const bool is_unchanged =
      memo.serial != 0 && callstack_size == memo.callstack_size && HasSerial(caller, memo.serial);
  return __builtin_expect(is_unchanged, 1) ? memo.stack
                                           : CaptureChangedSlow(callstack_size, caller);
}

// Stores the innermost frames without the allocator's own, and returns their number.  They are
// neither remembered nor interned.  Also in signal handlers.
size_t CaptureFrames(const FrameState& caller, uintptr_t* frames, size_t max_frames);

// Leaves frames in [begin, end) out of the innermost end.  Call before the first sample.
void LeaveOutText(uintptr_t begin, uintptr_t end);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CAPTURED_STACK_H_

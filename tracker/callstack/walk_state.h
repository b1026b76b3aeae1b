// States of a walk, and the steps between them.
#ifndef ALLOMON_TRACKER_CALLSTACK_WALK_STATE_H_
#define ALLOMON_TRACKER_CALLSTACK_WALK_STATE_H_

#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

enum class Step {
  kCaller,       // *frame is now the caller's; its pc is a return address
  kInterrupted,  // *frame is now one that a signal interrupted; its pc is exact
  kEnd,          // *frame was the outermost one
  kLost,         // there may be a caller, but it cannot be found
};

inline constexpr uint64_t kWord = sizeof(uintptr_t);

// The result of a step that reads two words at most.  how_reached and how_left: the flags of
// RecordedFrame::how for the caller's frame, and for the frame that the step left.
struct FastStep {
  uintptr_t how_reached;
  uintptr_t how_left;
};

// Each frame on a stack is above the frame that it called (inv.walk.grows).
inline bool IsAbove(uintptr_t cfa, const FrameState& frame) {
  return cfa > frame.sp && cfa % kWord == 0;
}

// A state of a walk, how it was reached and how it is left.
struct RecordedFrame {
  // Flags of `how`, around the address of the word from which bp was loaded.  Without an address,
  // bp is the same as in the callee.  Stack words are aligned, and user addresses have fewer than
  // 62 bits, so flags and address do not overlap.
  enum : uintptr_t {
    // The rest of the walk depends on bp: the rule of this frame reads it, or leaves it alone for a
    // caller's rule that reads it.
    kNeedsBp = 1,
    // The step to this frame read something other than these two words.
    kNotReplayable = 2,
    // pc is looked up unchanged, not one byte lower.
    kExactPc = 4,
    // The rule of this frame leaves bp alone, so kNeedsBp is that of the caller.
    kKeepsBp = uintptr_t{1} << 62,
  };
  static constexpr uintptr_t kSlotMask = (kKeepsBp - 1) & ~uintptr_t{7};

  uintptr_t bp_slot() const { return how & kSlotMask; }

  uintptr_t pc;
  uintptr_t sp;
  uintptr_t bp;
  uintptr_t how;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_WALK_STATE_H_

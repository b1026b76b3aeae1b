// The registers with which a walk of the stack begins.
#ifndef ALLOMON_TRACKER_BASE_FRAME_STATE_H_
#define ALLOMON_TRACKER_BASE_FRAME_STATE_H_

#include <cstdint>

namespace allomon {

// The start of a walk: a pc, and the register values on entry to the instruction there.  They may
// be wrong: a walk from a wrong state yields a wrong stack and does no harm.
struct FrameState {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t bp;  // the frame pointer: rbp, x29
#if defined(__aarch64__)
  // x30 where a signal interrupted: a function that calls nothing has its return address there.  0
  // if it is not known, and after a call.
  uintptr_t link = 0;
#endif
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_BASE_FRAME_STATE_H_

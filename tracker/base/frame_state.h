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
  uintptr_t bp;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_BASE_FRAME_STATE_H_

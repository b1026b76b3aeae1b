// The registers that a walk of the stack goes by.
#ifndef ALLOMON_TRACKER_BASE_FRAME_STATE_H_
#define ALLOMON_TRACKER_BASE_FRAME_STATE_H_

#include <cstdint>

namespace allomon {

// Where a walk starts: a pc, and the register values on entry to the instruction there.  They may
// be wrong: a walk from a wrong state yields a wrong stack and does no harm.
struct FrameState {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t bp;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_BASE_FRAME_STATE_H_

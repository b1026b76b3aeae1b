// The frame that a signal interrupted, from its handler's context.
//
// Any signal handler that was installed with SA_SIGINFO: no allocation, no lock, no call.
#ifndef ALLOMON_TRACKER_BASE_SIGNAL_FRAME_H_
#define ALLOMON_TRACKER_BASE_SIGNAL_FRAME_H_

#include <ucontext.h>

#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon::internal {

// Returns the interrupted frame.  `context` is the handler's third argument, a ucontext_t.  pc is
// the instruction that was interrupted, or that faulted, so a walk looks it up unchanged.  All zero
// on architectures whose context layout is not known here.
inline FrameState InterruptedFrame(const void* context) {
  [[maybe_unused]] const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<uintptr_t>(registers.gregs[REG_RIP]),
          static_cast<uintptr_t>(registers.gregs[REG_RSP]),
          static_cast<uintptr_t>(registers.gregs[REG_RBP])};
#elif defined(__aarch64__)
  return {static_cast<uintptr_t>(registers.pc), static_cast<uintptr_t>(registers.sp),
          static_cast<uintptr_t>(registers.regs[29]), static_cast<uintptr_t>(registers.regs[30])};
#else
  return {0, 0, 0};
#endif
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_SIGNAL_FRAME_H_

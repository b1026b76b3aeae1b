#include "allocator/host/interrupted_code.h"

#include <signal.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "allocator/host/code_extent.h"
#include "tracker/base/check.h"
#include "tracker/heap_client.h"

namespace allomon::internal {
namespace {

// The code to which a signal handler returns, sigreturn(2): mov $15, %rax; syscall.  Debuggers and
// unwinders know it by these bytes.
constexpr unsigned char kReturnFromSignal[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

constexpr size_t kMostFrames = 256;

bool IsReturnFromSignal(uintptr_t address) {
  CodeExtent extent;
  return FindCodeExtent(address, &extent) && extent.end - address >= sizeof(kReturnFromSignal) &&
         memcmp(reinterpret_cast<const void*>(address), kReturnFromSignal,
                sizeof(kReturnFromSignal)) == 0;
}

bool IsFaultBlocked() {
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS, SIGTRAP}) {
    if (sigismember(&blocked, fault) == 1) return true;
  }
  return false;
}

}  // namespace

bool MayAllocateHere(const FrameState& caller) {
  uintptr_t frames[kMostFrames];
  // _exit does not return, so its return address may already belong to the next function: the walk
  // begins at the call.
  const FrameState call = {caller.pc - 1, caller.sp, caller.bp};
  const size_t count = heap_client::CaptureFrames(call, frames, kMostFrames);
  ALLOMON_DCHECK_LE("inv.host.frames", count, kMostFrames);
  if (count > 0) frames[0] = caller.pc;
  const CodeExtent ours = OwnCodeExtent();
  bool in_handler = false;
  for (size_t i = 0; i < count; ++i) {
    if (in_handler && (ours.is_program || ours.Contains(frames[i]))) return false;
    in_handler = in_handler || IsReturnFromSignal(frames[i]);
  }
  return !in_handler || !IsFaultBlocked();
}

}  // namespace allomon::internal

// Captures call stacks: the return addresses of the functions that are running.
//
// Made for use inside malloc.  Works for code with and without frame pointers, by reading the
// unwind tables (.eh_frame) that every Linux binary carries.  A capture never allocates, never
// takes a lock, never calls the dynamic loader, leaves errno alone, and never faults, whatever
// registers it is given.  Any thread, any signal handler, any stack.
//
// Cost, hot: about 5 ns per frame; under 1 ns for each frame that is unchanged since the thread's
// last capture.  A return address that no capture has met before costs about 150 ns, and 2.5 KiB of
// stack instead of 0.3.  README.md has the design.
//
// While the thread has managed calls open (managed_functions.h), their frames are put between the
// native ones.  A capture then costs 5 ns per frame, and 17 bytes of stack for each frame of
// max_frames.
#ifndef ALLOMON_TRACKER_CALLSTACK_CAPTURE_H_
#define ALLOMON_TRACKER_CALLSTACK_CAPTURE_H_

#include <cstddef>
#include <cstdint>

#include "tracker/base/frame_state.h"

namespace allomon {

// Writes at most max_frames code addresses to `frames`, innermost first, and returns their number.
// frames[0] is start.pc.  The others are return addresses: one byte lower is the call, or, in a
// frame that a signal interrupted, the interrupted instruction.  Sets *truncated if the stack goes
// on: it has more than max_frames frames, or the caller of a frame cannot be found.
size_t CaptureCallstack(FrameState start, uintptr_t* frames, size_t max_frames, bool* truncated);

// The same, and sets *serial to a number for the result: two captures of one thread with the same
// serial have the same frames, count and *truncated.  0: not known.  A stack that does not change
// mostly keeps its serial.  So a caller may keep a value that it computed from the stack, an
// interned id for example, together with the serial and use it again.
size_t CaptureCallstackWithSerial(const FrameState& start, uintptr_t* frames, size_t max_frames,
                                  bool* truncated, uint64_t* serial);

// Whether CaptureCallstackWithSerial() would set this serial.  The serial is not 0 and was given to
// the same thread with the same max_frames.  Also false if it cannot be known.  Writes no frames,
// so it takes a third of the time of a capture.  Cost: two words read and compared per frame.
bool HasSerial(const FrameState& start, uint64_t serial);

// The same result without the help of the thread's last capture.  For tests.
size_t CaptureCallstackAfresh(FrameState start, uintptr_t* frames, size_t max_frames,
                              bool* truncated);

// Captures only the native frames, with the sp of each, and ignores interpreters and managed calls.
// `sps` has room for one more, the sp of the frame after the last one; UINTPTR_MAX if the stack has
// ended.
size_t CaptureNativeFrames(const FrameState& start, uintptr_t* frames, uintptr_t* sps,
                           size_t max_frames);

// Returns the start of the function of the instruction at `pc`, by the unwind tables; `pc` if they
// have no entry for it.  Never allocates, takes no lock; any thread, any signal handler.  Cost: 40
// ns, and a cache miss for each step of a binary search.
uintptr_t FunctionStart(uintptr_t pc);

// Forgets all facts about code.  Call it after a dlclose.  Until then, new code at the same
// addresses may be walked by the rules of the old code, which ends a stack early or puts wrong
// frames into it, but does no other harm.  Async-signal-safe, any thread.  Cost: 10 us.
void ForgetUnloadedCode();

// The C library unloads code by itself, without a dlclose.  If one of these frames, which have just
// been captured, was walked by a rule of a module that is gone, all is forgotten as above, and the
// caller must capture again.  Use it for stacks that were never seen before: a wrong stack is
// always new.  Async-signal-safe, any thread.  Cost: 30 instructions a frame, 175 more if the
// module differs from that of the previous frame.
bool ForgetReplacedCode(const uintptr_t* frames, size_t depth);

// Calls CaptureCallstack(), and again if code was replaced.  For callers that do not know whether
// the stack is new.
inline size_t CaptureCallstackOfLoadedCode(const FrameState& start, uintptr_t* frames,
                                           size_t max_frames, bool* truncated) {
  const size_t depth = CaptureCallstack(start, frames, max_frames, truncated);
  return ForgetReplacedCode(frames, depth) ? CaptureCallstack(start, frames, max_frames, truncated)
                                           : depth;
}

}  // namespace allomon

// The FrameState of the caller of the function that uses this, at the instruction to which the
// function will return.  The function must not be inlined (__attribute__((noinline))) and must keep
// a frame pointer, which both g++ and clang arrange for a function that asks for its frame address.
#define ALLOMON_CALLER_FRAME()                                                     \
  (::allomon::FrameState{reinterpret_cast<uintptr_t>(__builtin_return_address(0)), \
                         ALLOMON_INTERNAL_CFA(),                                   \
                         *static_cast<const uintptr_t*>(__builtin_frame_address(0))})

// A function's CFA is its caller's sp.
#if defined(__aarch64__) && defined(__clang__)
// clang cannot say it there; but it stores x29 and x30 at the upper end of the frame.
#define ALLOMON_INTERNAL_CFA() (reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 16)
#else
#define ALLOMON_INTERNAL_CFA() reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())
#endif

#endif  // ALLOMON_TRACKER_CALLSTACK_CAPTURE_H_

// The state of a profiled thread: the functions on its stack, and its counts.
//
// The functions are a shadow stack keyed by frame address.  A thread that enters a function pops
// every entry whose frame is not above the function's own, then pushes one.  A function whose frame
// lies at or below the new one has returned, was left by an exception or longjmp, or gave its frame
// away in a tail call.  So there is no leave hook, and tail calls stay tail calls.  An entry whose
// return address is no longer in its place has returned too, although its frame lies above: its
// caller has pushed arguments for another call.
//
// Only its own thread, and signal handlers on it, touch the shadow stack.  `busy` keeps a handler
// out while the thread changes the shadow stack.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_THREAD_PROFILE_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_THREAD_PROFILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/frame_state.h"
#include "tracker/base/tls.h"
#include "tracker/formats/profile_kind.h"
#include "tracker/profile/record/function_counts.h"
#include "tracker/profile/record/open_scopes.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/shadow_entry.h"

namespace allomon {
namespace internal {

struct DataUnit;
struct ManagedStack;
struct ThreadTimer;

// Plain data in static TLS, all zero at first.
struct ThreadProfile {
  // The word that a hook reads first (entry_call.cc).  It is `cells` if the outermost occurrence of
  // each function is enough, because no source asks which function runs; otherwise null.
  std::atomic<FunctionCell*> outermost_cells;
  ShadowEntry* top;  // null: no shadow stack yet
  // The counts that an entry adds to: the thread's own counts, or the common ones of its unit.  Not
  // null while `step` is not 0 (inv.count.step).
  std::atomic<ThreadCounts*> step_counts;
  std::atomic<uint64_t> step;  // the amount that an entry adds to the counts
  ThreadCounts* counts;        // this thread's in its current unit; null: the unit's common ones

  OpenScopes* open;  // this thread's; null until it is attached

  ShadowEntry* limit;   // the last entry that there is room for
  ShadowEntry* bottom;  // the lowest entry, which belongs to no function
  uint32_t start_seen;  // Recording::starts when open scopes were last put onto the shadow stack
  // The function that ran at the last boundary.  Other threads read it, and charge this thread's
  // clock to that function.
  std::atomic<uint32_t> running;
  ManagedStack* managed_calls;  // this thread's
  // The cells of the thread's counts; null unless stack times are wanted.  Stored by the thread
  // that starts or stops a profile.
  std::atomic<FunctionCell*> cells;
  DataUnit* unit;  // null: the default one
  StackRange stack;
  bool busy;
  bool attached;
  // The thread's exit handler has run.  Key destructors that run later count in the common counts
  // of the unit that they make current.
  bool ended;
  uint32_t collecting;      // open CollectorScopes
  ThreadTimer* timer;       // the last one it had
  ThreadProfile* previous;  // registry of attached threads, under the units' lock
  ThreadProfile* next;
};

extern __thread ThreadProfile thread_profile
    __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

// Leaves every function that the thread has entered and not left.  Called at the thread's end.
void LeaveAllFunctions(ThreadProfile& thread);

inline void PopEntry(ThreadProfile& thread) {
  ALLOMON_DCHECK("inv.shadow.busy", thread.busy);
  ALLOMON_DCHECK_NE("inv.shadow.order", thread.top, thread.bottom);
  FunctionCell* const cell = thread.top->cell;
  --thread.top;
  if (cell != nullptr) LeaveCell(cell);
}

// Puts the scopes and managed calls that the thread has open onto its shadow stack, unless that was
// done since the last start.  The caller is `busy`.
void CatchUpSlow(ThreadProfile& thread);
inline void CatchUp(ThreadProfile& thread) {
  if (thread.start_seen != recording.starts.load(std::memory_order_relaxed)) CatchUpSlow(thread);
}
// Enters the functions on the shadow stack in the thread's counts, unless they are entered in some
// counts already.
void EnterOpenFunctions(ThreadProfile& thread);

// Called when another function is on top of the shadow stack.
void NoteRunning(ThreadProfile& thread);

// Counts an entry of the function in the thread's counts, if entries are counted.
void CountEntry(ThreadProfile& thread, uint32_t function);

// A function without hooks begins, or has ended.  The caller is `busy`, has called CatchUp(), and
// has charged the clock.
void EnterFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function);
void LeaveFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function);

// Pops the functions that have returned, as seen from code that has called this one and has the
// stack pointer `sp`, or from code that a signal interrupted.  Cost of the latter on 64-bit Arm:
// FunctionStart() five times, and a hook's no-ops are read.
void PopDead(ThreadProfile& thread, uintptr_t sp);
void PopDead(ThreadProfile& thread, const FrameState& interrupted);

// The innermost function on the shadow stack; kMainSource if there is none.
inline uint32_t TopFunction(const ThreadProfile& thread) {
  return thread.top == nullptr ? uint32_t{kMainSource} : thread.top->function;
}

// Adds an amount to the total that stack times are differences of.  Code with that stack pointer
// has used the amount, which is charged to its call stack.
void AddToStackTimesSlow(ThreadProfile& thread, uintptr_t sp, uint64_t amount);
void AddToStackTimesSlow(ThreadProfile& thread, const FrameState& interrupted, uint64_t amount);
// `Where` is the stack pointer of code that was called, or the state of interrupted code.
template <typename Where>
inline void AddToStackTimes(ThreadProfile& thread, const Where& where, uint64_t amount) {
  if (__builtin_expect(thread.cells.load(std::memory_order_relaxed) != nullptr, 0)) {
    AddToStackTimesSlow(thread, where, amount);
  }
}

// The function that code with that stack pointer runs in; kMainSource if none is open.  Pops the
// functions that have returned.  The caller is `busy`.
uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp);
uint32_t RunningFunction(ThreadProfile& thread, const FrameState& interrupted);

inline bool IsOnOwnStack(const ThreadProfile& thread, uintptr_t address) {
  return thread.stack.Contains(address);
}

// Pushes a function and counts its entry.  The caller is `busy` and has popped returned functions.
inline void PushEntry(ThreadProfile& thread, uintptr_t frame, uintptr_t return_address,
                      uint32_t function) {
  ALLOMON_DCHECK("inv.shadow.busy", thread.busy);
  ALLOMON_DCHECK_LE("inv.shadow.order", frame, thread.top->frame);
  FunctionCell* cell = thread.cells.load(std::memory_order_relaxed);
  if (__builtin_expect(cell != nullptr, 1)) {
    cell += function;
    if (IsOnStack(*cell)) cell = nullptr;
  }
  ShadowEntry* const entry = thread.top + 1;
  *entry = {frame, return_address, cell, function};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  thread.top = entry;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (cell != nullptr) EnterCell(cell, thread.counts);
}

}  // namespace internal
}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_THREAD_PROFILE_H_

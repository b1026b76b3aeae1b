// What a hooked function's entry does to its thread's shadow stack and counts.  Included by the
// entry_call.cc of each processor's folder alone, which says how a count is added to: at a
// function's start every register may hold an argument, so nothing here may be called.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_ON_ENTRY_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_ON_ENTRY_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/profile/record/shadow_frames.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {

// Adds one to a count of the thread's own, so that a count by a signal handler in between is not
// lost.
inline void AddOne(std::atomic<uint64_t>& count);
// Adds one to a count that all threads share.
inline void AddOneOfMany(std::atomic<uint64_t>& count);

// A thread without counts of its own, because it has ended or was refused memory, adds to the
// counts that all threads share.
inline void CountHooked(const ThreadProfile& thread, uint32_t function) {
  ThreadCounts* const counts = thread.step_counts.load(std::memory_order_relaxed);
  ALLOMON_DCHECK_NE("inv.count.step", counts, nullptr);
  if (__builtin_expect(counts == thread.counts, 1)) {
    AddOne(counts->cells[function].current);
    AddOne(counts->total);
  } else {
    AddOneOfMany(counts->At(function).current);
    AddOneOfMany(counts->total);
  }
}

// True in a signal handler that interrupted the profiler, on a thread that is not attached, on
// another stack (sigaltstack, a coroutine's), and when the shadow stack is full, at a million
// functions.
inline bool CannotPush(const ThreadProfile& thread, uintptr_t frame) {
  return thread.busy | !IsOnOwnStack(thread, frame) | (thread.top >= thread.limit);
}

inline ShadowEntry* PopReturned(const ThreadProfile& thread, uintptr_t frame, uintptr_t record) {
  ShadowEntry* top = thread.top;
  while (IsPopped(*top, frame) || HasReturned(*top, record, thread.stack)) {
    if (__builtin_expect(top->cell != nullptr, 0)) LeaveCell(top->cell);
    --top;
  }
  return top;
}

// `frame` and `return_address` are a ShadowEntry's; `record` is the frame pointer of the function's
// caller.  Called on the function's own thread, also in signal handlers.
inline void OnEntry(uintptr_t frame, uintptr_t return_address, uintptr_t record,
                    uint32_t function) {
  ThreadProfile& thread = thread_profile;
  ShadowEntry* const seen = thread.top;
  if (!CannotPush(thread, frame)) {
    if (seen->frame == frame && seen->function == function) {
      // A call of the same function from the same place.  A pop and a push would change nothing in
      // between.
      seen->return_address = return_address;
    } else {
      thread.busy = true;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      // `thread.top` is read once more: a signal handler may have pushed a function before the
      // thread was busy.  If its entry were overwritten, that function would stay on the stack for
      // ever.
      ShadowEntry* const top = PopReturned(thread, frame, record) + 1;
      ALLOMON_DCHECK("inv.shadow.order", !IsPopped(top[-1], frame));
      FunctionCell* cell = thread.cells.load(std::memory_order_relaxed);
      if (cell != nullptr) {
        cell += function;
        if (IsOnStack(*cell)) cell = nullptr;
      }
      *top = {frame, return_address, cell, function};
      const bool is_needed =
          cell != nullptr || thread.outermost_cells.load(std::memory_order_relaxed) == nullptr;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread.top = is_needed ? top : top - 1;
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (cell != nullptr) EnterCell(cell, thread.counts);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      thread.busy = false;
    }
  }
  if (thread.step.load(std::memory_order_relaxed) != 0) CountHooked(thread, function);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_ON_ENTRY_H_

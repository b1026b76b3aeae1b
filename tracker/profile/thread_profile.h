// What profiling knows about a thread: the functions on its stack, and where it counts.
//
// The functions are a shadow stack keyed by frame address.  Who enters a function pops
// every entry whose frame is not above its own, then pushes: what lies at or below the new
// frame has returned, was left by an exception or longjmp, or gave its frame away in a
// tail call.  So there is no leave hook, and tail calls stay tail calls.  An entry whose
// return address is no longer in its place has returned too, although its frame lies
// above: its caller has pushed arguments for another call.
//
// Only its own thread, and signal handlers on it, touch the shadow stack; `busy` keeps a
// handler out while the thread is in the middle of it.
#ifndef ALLOMON_TRACKER_PROFILE_THREAD_PROFILE_H_
#define ALLOMON_TRACKER_PROFILE_THREAD_PROFILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/internal/countdown.h"
#include "tracker/profile/function_counts.h"

namespace allomon::internal {

struct DataUnit;
struct ThreadTimer;

struct ShadowEntry {
  uintptr_t frame;           // where the function's return address lies
  uintptr_t return_address;  // 0: an ALLOMON_FUNCTION() scope, which ends by itself
  FunctionCell* cell;        // to leave; null: not accounted for, or again on the stack
  uint32_t function;         // see PlaceInTable()
};

// Plain data in static TLS, all zero at first.
struct ThreadProfile {
  ShadowEntry* top;    // null: no shadow stack yet; its lowest entry is none of a function
  ShadowEntry* limit;  // the last entry there is room for
  // What an entry adds, and where: cells is null unless stack times are wanted.  Stored by
  // who starts or stops a profile.
  std::atomic<FunctionCell*> cells;
  std::atomic<uint64_t> step;
  ThreadCounts* counts;  // this thread's in its current unit; null: the unit's common ones
  DataUnit* unit;        // null: the default one
  uintptr_t stack_low;   // of the stack the thread was born with
  uintptr_t stack_bytes;
  bool busy;
  bool attached;
  uint32_t collecting;      // open CollectorScopes
  ThreadTimer* timer;       // the last one it had; see time_session.cc
  ThreadProfile* previous;  // registry of attached threads, under the units' lock
  ThreadProfile* next;
};

extern __thread ThreadProfile thread_profile
    __attribute__((visibility("hidden"), ALLOMON_TLS_MODEL));

// Keeps signal handlers of this thread out of its shadow stack, and, with the tracker's
// own mark, mallocs in such handlers out of the sampler.  Nests.
class BusyScope {
 public:
  BusyScope();
  ~BusyScope();
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  const bool was_busy_;
  const bool was_tracker_busy_;
};

// Gives the thread a shadow stack, counts in its current unit, and an end: it is detached
// when it exits.  Does nothing if it has them.  Allocates with mmap only; not in a signal
// handler.  Whatever the kernel refuses, the thread goes on with less: no stack times, or
// counts that it shares.
void AttachThread();

// What the thread counts as entered and not yet left is left: for its end.
void LeaveAllFunctions(ThreadProfile& thread);

inline void PopEntry(ThreadProfile& thread) {
  FunctionCell* const cell = thread.top->cell;
  --thread.top;
  if (cell != nullptr) LeaveCell(cell);
}

// Pops what has returned, seen from code whose stack pointer is `sp`.
void PopDead(ThreadProfile& thread, uintptr_t sp);

// The function that code with that stack pointer runs in; kMainSource if none is open.
// Pops what has returned; the caller is `busy`.
uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp);

inline bool IsOnOwnStack(const ThreadProfile& thread, uintptr_t address) {
  return address - thread.stack_low < thread.stack_bytes;
}

// A word of a stack, which other code's sanitizer may call out of bounds.
__attribute__((no_sanitize("address", "thread"))) inline uintptr_t StackWord(uintptr_t address) {
  return *reinterpret_cast<const volatile uintptr_t*>(address);
}

inline bool HasReturned(const ShadowEntry& entry) {
  return entry.return_address != 0 && StackWord(entry.frame) != entry.return_address;
}

// Pushes a function and counts its entry.  The caller is `busy` and has popped.
inline void PushEntry(ThreadProfile& thread, uintptr_t frame, uintptr_t return_address,
                      uint32_t function) {
  FunctionCell* cell = thread.cells.load(std::memory_order_relaxed);
  if (__builtin_expect(cell != nullptr, 1)) {
    cell += function;
    if (!EnterCell(cell, thread.counts)) cell = nullptr;
  }
  ShadowEntry* const entry = thread.top + 1;
  *entry = {frame, return_address, cell, function};
  thread.top = entry;
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_THREAD_PROFILE_H_

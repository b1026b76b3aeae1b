// The counts of one thread in one unit of data, by function.
//
// The arithmetic is MLton's (runtime/gc/profiling.c: inc, enter, leave).  A function that comes
// onto the stack notes the total so far.  When its last occurrence leaves the stack, the increase
// of the total since then is added to its stack count.  So recursion counts once, and no function's
// stack count exceeds the total.
//
// Counts are in the finest unit of their kind (see UnitsPerCount): the writer rounds.
//
// Counts are written by their own thread, by plain loads and stores, and by signal handlers on it.
// Charge() and common counts are also written by other threads, atomically.  Counts are read by the
// thread that merges them.  No memory comes from malloc.  Async-signal-safe but for Take and
// Return.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_FUNCTION_COUNTS_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_FUNCTION_COUNTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/formats/profile_kind.h"

namespace allomon::internal {

struct ThreadCounts;

// A cell is one cache line.  Entry hooks add to `current` by an instruction in the function itself,
// so the place of `current` in the cell is known to entry_hooks.cc.
struct alignas(64) FunctionCell {
  std::atomic<uint64_t> current;   // used while it was running
  std::atomic<uint64_t> stack;     // while it was on the stack, collector excluded
  std::atomic<uint64_t> stack_gc;  // by the collector while it was on the stack
  std::atomic<uint64_t> start;     // total when it came onto the stack
  std::atomic<uint64_t> start_gc;
  // `current` runs on while the profile is stopped.  While the profile is on, `held` is the part of
  // `current` that does not count.  While it is stopped, `held` is the part that counts.
  std::atomic<uint64_t> held;
  std::atomic<uint64_t> on_stack;  // 1 while the function is on the stack
  ThreadCounts* owner;             // set when the function first came onto the stack

  uint64_t Counted(bool stopped) const {
    const uint64_t aside = held.load(std::memory_order_relaxed);
    return stopped ? aside : current.load(std::memory_order_relaxed) - aside;
  }
};
static_assert(sizeof(FunctionCell) == 64, "entry hooks multiply by this");

struct ThreadCounts {
  std::atomic<uint64_t> total;     // without the collector
  std::atomic<uint64_t> total_gc;  // the collector's
  std::atomic<double> variance;    // of the total, when it is an estimate
  ThreadCounts* next;              // of the same unit; under the units' lock
  bool taken;                      // a thread has taken them; under the same lock
  uint32_t functions;              // length of `cells`
  FunctionCell cells[1];

  FunctionCell& At(uint32_t function) { return cells[function < functions ? function : 0]; }

  // Adds an amount that was used while `function` was running.  Any thread.
  void Charge(uint32_t function, uint64_t amount);

  // Like Charge(), for the thread that owns these counts, outside of signal handlers.  No other
  // code of the profiler adds to the counts at the same time.
  void ChargeOwn(uint32_t function, uint64_t amount) {
    AddOwn(At(function).current, amount);
    AddOwn(function == kGcSource ? total_gc : total, amount);
  }

  // Whether any function that is known now is on the stack in these counts.  For ALLOMON_DCHECK;
  // called by the thread that owns these counts.
  bool HasFunctionOnStack();

  // Any thread.
  void AddVariance(double more);
  // Like ChargeOwn(), for the variance.
  void AddOwnVariance(double more) {
    variance.store(variance.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  // Sets all counts to 0.  A thread that counts at the same time keeps its shadow stack.
  void Clear();

  // While a profile is stopped its numbers do not change, although hooks go on counting.
  void Hold();
  void Resume();

  static void AddOwn(std::atomic<uint64_t>& sum, uint64_t amount) {
    sum.store(sum.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  static size_t SizeBytes(uint32_t functions) {
    return sizeof(ThreadCounts) + size_t{functions} * sizeof(FunctionCell);
  }
  // Maps zeroed counts for so many functions; nullptr when the kernel has no memory.  They are
  // never unmapped, since a thread may have one of their cells on its stack.
  static ThreadCounts* Map(uint32_t functions);
};

inline bool IsOnStack(const FunctionCell& cell) {
  return cell.on_stack.load(std::memory_order_relaxed) != 0;
}

// Enters a function that is not on the stack.  Called by the thread that owns the cell, when the
// shadow stack's entry names the cell already.  A thread that is cancelled in between leaves the
// functions that its shadow stack names, and no others (inv.shadow.outermost).
inline void EnterCell(FunctionCell* cell, ThreadCounts* counts) {
  cell->owner = counts;
  cell->start.store(counts->total.load(std::memory_order_relaxed), std::memory_order_relaxed);
  cell->start_gc.store(counts->total_gc.load(std::memory_order_relaxed), std::memory_order_relaxed);
  // A cell that is on the stack has an owner.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cell->on_stack.store(1, std::memory_order_relaxed);
}

inline void AddSince(std::atomic<uint64_t>& sum, const std::atomic<uint64_t>& total,
                     const std::atomic<uint64_t>& start) {
  sum.store(sum.load(std::memory_order_relaxed) + total.load(std::memory_order_relaxed) -
                start.load(std::memory_order_relaxed),
            std::memory_order_relaxed);
}

inline void LeaveCell(FunctionCell* cell) {
  // The cell was cleared, or its thread cancelled before it was entered.
  if (!IsOnStack(*cell)) return;
  cell->on_stack.store(0, std::memory_order_relaxed);
  AddSince(cell->stack, cell->owner->total, cell->start);
  AddSince(cell->stack_gc, cell->owner->total_gc, cell->start_gc);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_FUNCTION_COUNTS_H_

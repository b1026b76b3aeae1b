// The part of the current stack that may be read.
//
// A call stack is read through addresses that come from registers, memory and tables, any of which
// may be wrong.  A read outside of mapped memory would kill the profiled program.  A StackWindow is
// a range in which every word is known to be readable; README.md, "Bounds", explains how this is
// known.
//
// No allocation, no lock, async-signal-safe.  Cost: a few instructions on the thread's own stack;
// on any other stack one system call (about 150 ns) per page walked.
#ifndef ALLOMON_TRACKER_CALLSTACK_STACK_WINDOW_H_
#define ALLOMON_TRACKER_CALLSTACK_STACK_WINDOW_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tracker/base/check.h"

// Marks functions that read a stack: they may touch redzones, and words that another thread's
// instrumented code wrote, which is no error here.
#define ALLOMON_READS_STACK __attribute__((no_sanitize("address", "thread", "undefined")))

namespace allomon::internal {

// The bounds of stacks that a thread knows.  Atomic only because a signal handler on the same
// thread may read while the thread writes; README.md, "Bounds", has the order of the stores.
struct KnownStacks {
  // [own_low, own_high) lies in the stack that the thread was born with, which stays mapped as long
  // as the thread lives.  own_high is 0 until the end of that stack has been searched for.
  std::atomic<uintptr_t> own_low;
  std::atomic<uintptr_t> own_high;
  // No address below this one is connected with that stack.
  std::atomic<uintptr_t> foreign_below;
};

// initial-exec: any other model may call malloc on the first access in a thread.  __thread:
// promises that there is no constructor, which thread_local would look for on each access.
extern __thread KnownStacks known_stacks __attribute__((tls_model("initial-exec")));

// Whether `page`, the first address of a page, can be read.  Another thread may unmap it right
// afterwards.  Cost: a system call that every sandbox lets through (150 ns).
bool IsReadablePage(uintptr_t page);

class StackWindow {
 public:
  // Opens a window that starts at `sp`; empty if not even the word at `sp` is readable.
  explicit StackWindow(uintptr_t sp) {
    low_ = sp;
    high_ = known_stacks.own_high.load(std::memory_order_relaxed);
    if (!IsKnownOwn(sp)) OpenSlow(sp);
  }

  // Whether sp is in the known part of the stack that the thread was born with.
  static bool IsKnownOwn(uintptr_t sp) {
    return sp < known_stacks.own_high.load(std::memory_order_relaxed) &&
           sp >= known_stacks.own_low.load(std::memory_order_relaxed);
  }

  // Whether the window is on the stack that the thread was born with.  Call it only before the
  // window has been read from.
  bool IsOwnStack() const { return !growable_ && low_ < high_; }

  uintptr_t low() const { return low_; }
  uintptr_t high() const { return high_; }

  // Reads the aligned word at `address`.  False if it is outside or not aligned.
  ALLOMON_READS_STACK bool Load(uintptr_t address, uintptr_t* value) {
    if ((address & (sizeof(uintptr_t) - 1)) != 0 || !Covers(address)) return false;
    *value = LoadUnchecked(address);
    return true;
  }

  // Requires that a window covers the word at `address`, and that the address is aligned.
  ALLOMON_READS_STACK static uintptr_t LoadUnchecked(uintptr_t address) {
    ALLOMON_DCHECK_EQ("inv.walk.safe", address % sizeof(uintptr_t), 0u);
    using Word __attribute__((may_alias)) = uintptr_t;
    return *reinterpret_cast<const volatile Word*>(address);
  }

 private:
  // True if the word at `address` lies in the window, which grows for it if it can.
  bool Covers(uintptr_t address) {
    if (address < low_) return IsInRedZone(address);
    if (address < high_ && high_ - address >= sizeof(uintptr_t)) return true;
    return growable_ && Grow(address);
  }

  void OpenSlow(uintptr_t sp);
  bool IsInRedZone(uintptr_t address) const;
  bool Grow(uintptr_t address);

  uintptr_t low_;
  uintptr_t high_;
  bool growable_ = false;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_STACK_WINDOW_H_

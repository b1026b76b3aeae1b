// Waiting for another heap's threads.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_STANDING_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_STANDING_H_

#include "runtime/internal/collect/heap_core.h"

namespace allomon::gc::internal {

// From EnterNative() on the thread stands, and its next allocation comes to the slow path, which
// refuses it.  LeaveNative() waits for a collection that is going on, and ends this state.
void EnterNative(Mutator& mutator);
void LeaveNative(Mutator& mutator);

// While a Standing is open the thread stands in the heap that it is attached to, as in a
// NativeRegion.  It is needed because a thread that waits for another heap's world, or for a lock
// that is held while worlds stop, may itself be waited for.  Does nothing for a thread that does
// not run.  Does nothing for a thread of `waits_for`, whose world knows that it waits.  A
// safepoint: objects of the thread's heap may move.
class Standing {
 public:
  // Inlined into the waiting function, so that the frame of that function is noted.
  __attribute__((always_inline)) explicit Standing(const HeapCore* waits_for = nullptr)
      : mutator_(RunningOutside(waits_for)) {
    if (mutator_ == nullptr) return;
    StandHere(mutator_->stack.here.point);
    mutator_->stack.here.KeepFrame(reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa()));
    EnterNative(*mutator_);
  }
  ~Standing() {
    if (mutator_ != nullptr) LeaveNative(*mutator_);
  }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

 private:
  // Returns the thread's mutator if it has to stand; aborts with rule.no_allocation.
  static Mutator* RunningOutside(const HeapCore* waits_for);

  Mutator* const mutator_;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_STANDING_H_

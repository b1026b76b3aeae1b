// While a callback runs, its thread does not sample, and no second callback starts.
#ifndef ALLOMON_TRACKER_CORE_CALLBACK_SCOPE_H_
#define ALLOMON_TRACKER_CORE_CALLBACK_SCOPE_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/entry_table.h"
#include "tracker/core/registry.h"
#include "tracker/core/thread_state.h"

namespace allomon::internal {

// ---- Deallocs that a thread notices while it is inside a callback, and runs when the callback has
// returned: a user's callback that holds a lock must not be entered a second time for a block that
// it frees.

struct ThreadState;

void PostponeDealloc(ThreadState& thread, EntryId entry);

// Runs the postponed dealloc callbacks of this thread, oldest first, and then the deallocs that
// these postpone in turn.  If one ends its thread, the rest stays postponed.
void RunPostponedDeallocsSlow(ThreadState& thread);

// Open it only when thread.in_callback is false, and call Finish() before it closes: that runs the
// deallocs that were postponed meanwhile.  A callback may end its thread.  Then the stack unwinds,
// Finish() is not reached, and no callback may run before the unwinding is over (a second end of
// the thread would be the end of the process).  Postponed deallocs then wait for the next scope, or
// for the thread's last destructors.
class CallbackScope {
 public:
  __attribute__((always_inline)) explicit CallbackScope(ThreadState& thread)
      : thread_(thread),
        saved_countdown_(countdown_words.load(std::memory_order_relaxed)),
        was_busy_(thread.busy) {
    ALLOMON_DCHECK("inv.callback.nesting", !thread_.in_callback);
    // A signal handler that frees a block before this store has a scope of its own, which leaves
    // things as it found them.  One that frees a block after it has the dealloc postponed.
    thread_.in_callback = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_.suspended_countdown.store(saved_countdown_, std::memory_order_relaxed);
    countdown_words.store(kNeverWords, std::memory_order_relaxed);
    thread_.busy = false;  // the callback's own mallocs are ordinary ones
  }
  __attribute__((always_inline)) ~CallbackScope() {
    ALLOMON_DCHECK("inv.callback.nesting", thread_.in_callback);
    thread_.busy = was_busy_;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    thread_.in_callback = false;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    SetCountdown(thread_, saved_countdown_);
  }
  void Finish() {
    if (__builtin_expect(thread_.HasPostponed(), 0)) RunPostponedDeallocsSlow(thread_);
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  ThreadState& thread_;
  // Kept in the scope, not in the thread: a scope that a signal handler opens between the first two
  // lines of the constructor must not overwrite it.
  const int64_t saved_countdown_;
  const bool was_busy_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_CALLBACK_SCOPE_H_

// While a callback runs, its thread does not sample, and no second callback starts.
#ifndef ALLOMON_TRACKER_INTERNAL_CALLBACK_SCOPE_H_
#define ALLOMON_TRACKER_INTERNAL_CALLBACK_SCOPE_H_

#include "tracker/internal/postponed.h"
#include "tracker/internal/thread_state.h"

namespace allomon::internal {

// Open it only when thread.in_callback is false, and call Finish() before it closes: that runs
// the deallocs that were postponed meanwhile.  A callback may end its thread: then the stack
// unwinds, Finish() is not reached, and no callback may run before the unwinding is over (a
// second end of the thread would be the end of the process).  What is postponed stays so for
// the next scope, or for the thread's last destructors.
class CallbackScope {
 public:
  explicit CallbackScope(ThreadState& thread) : thread_(thread), was_busy_(thread.busy) {
    thread_.saved_countdown = countdown_words.load(std::memory_order_relaxed);
    countdown_words.store(kNeverWords, std::memory_order_relaxed);
    thread_.in_callback = true;
    thread_.busy = false;  // the callback's own mallocs are ordinary ones
  }
  ~CallbackScope() {
    thread_.busy = was_busy_;
    thread_.in_callback = false;
    SetCountdown(thread_, thread_.saved_countdown);
  }
  void Finish() {
    if (__builtin_expect(thread_.postponed != 0, 0)) RunPostponedDeallocsSlow(thread_);
  }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  ThreadState& thread_;
  const bool was_busy_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_INTERNAL_CALLBACK_SCOPE_H_

// A thread that exists only while it has work, and that a signal handler can wake.
//
// A handler may not call pthread_create, because the thread that it interrupted may hold the locks
// of malloc or of the C library.  A thread that clone(2) makes has no thread-local storage, which
// malloc needs.  So the storage is made beforehand: a thread of the C library's is made, ends at
// once and is never joined, so that its storage stays.  To wake it is one clone(2) with that
// storage and that stack.  Between two wakings the process has no thread of ours: it may change
// its user, and enter a new user namespace.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_DORMANT_THREAD_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_DORMANT_THREAD_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allomon::internal {

// Constant-initialised, never destroyed.
class DormantThread {
 public:
  constexpr DormantThread() = default;

  // Makes the storage.  `work` runs each time that the thread is woken, with all signals blocked,
  // however many requests there were.  Returns false if there is no memory or no thread can be
  // made.  Not in signal handlers.  In a forked child: again only if Survived() is false.  Cost: a
  // thread's life (0.1 ms), and 1 MiB of address space.
  bool Make(void (*work)());

  // Makes `work` run once from its beginning after this call.  All calls during a run cause one
  // more run together.  Returns false if the system refuses a thread; then nothing runs.
  // Async-signal-safe.  Waits, at most for the few instructions in which the thread ends.
  bool Wake();

  // Waits until the thread has gone back to sleep, but not for much longer than that.
  // Async-signal-safe.
  void AwaitSleep(uint32_t most_ms);

  // Whether the storage is usable in a forked child.  It is not if the thread was awake at the
  // fork, in the middle of its work.
  bool Survived() const { return state_.load(std::memory_order_relaxed) == kAsleep; }

 private:
  // kAsked: must run (again).  An awake thread goes to sleep only from kAwake.
  enum State : uint32_t { kAsleep, kAwake, kAsked };

  static void* Prepare(void* self);
  static int Run(void* self);
  bool Clone();
  bool IsRunning() const { return task_.load(std::memory_order_acquire) != 0; }
  void AwaitSleepFor1Millisecond();

  void (*work_)() = nullptr;
  std::atomic<uint32_t> state_{kAsleep};
  // The id of the running thread.  The kernel writes it before the thread runs.  When the thread
  // has left its stack for good, the kernel writes 0 and wakes a waiter.
  std::atomic<int> task_{0};
  void* stack_ = nullptr;
  void* storage_ = nullptr;         // target of the thread pointer
  char* top_ = nullptr;             // upper end of the usable part of the stack
  int* own_number_ = nullptr;       // the C library's copy of the thread id
  std::atomic<int> first_task_{0};  // id of the thread for which the storage was made
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_DORMANT_THREAD_H_

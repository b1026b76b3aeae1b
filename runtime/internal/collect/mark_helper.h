// A thread that marks and sweeps beside the program, where the machine has a second processor.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_HELPER_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_HELPER_H_

#include <pthread.h>

#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class ChunkStock;
class HeapCore;

// The thread is started when the first collection in slices begins.  It blocks all signals, runs no
// user code and calls no malloc.  Without the thread (one processor, no memory, a forked child
// until its next collection) the program's own threads do the work in their pauses.
class MarkHelper {
 public:
  // Does a piece of the work; false if nothing is left.
  using Work = bool (*)(HeapCore&);

  MarkHelper(HeapCore& heap, ChunkStock& stock) : heap_(heap), stock_(stock) {}
  // Ends the thread, after the slice that it is in.
  ~MarkHelper();
  MarkHelper(const MarkHelper&) = delete;
  MarkHelper& operator=(const MarkHelper&) = delete;

  // Announces work.  Called by a thread that has not stopped a world.  Starts the thread at the
  // first call, which calls malloc.
  void Wake(Work work);

  // Called around fork.  The child has no helper thread until the next Wake().
  void LockForFork();
  void UnlockAfterFork();
  void ResetInForkedChild();

 private:
  static void* Run(void* helper);
  void RunUntilStopped();
  bool WaitForWork();
  // The work that is to be done, nullptr when the thread is to end.
  Work WorkToDo();
  void StartLocked() ALLOMON_REQUIRES(mutex_);

  HeapCore& heap_;
  ChunkStock& stock_;
  Mutex mutex_;
  Condition woken_;
  Work work_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  bool has_work_ ALLOMON_GUARDED_BY(mutex_) = false;  // since the thread's last look
  bool is_to_end_ ALLOMON_GUARDED_BY(mutex_) = false;
  enum class State { kNone, kRuns, kRefused } state_ ALLOMON_GUARDED_BY(mutex_) = State::kNone;
  pthread_t thread_ ALLOMON_GUARDED_BY(mutex_) = {};
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_HELPER_H_

// Stops and resumes the threads of a heap.  See "Threads" in runtime/README.md.
//
// A thread runs, or it stands: parked at a safepoint, in native code, or because it has stopped the
// others itself.  inv.world: the heap is collected only while no thread runs, and no thread begins
// to run while `stopping`.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_WORLD_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_WORLD_H_

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "runtime/heap_statistics.h"
#include "runtime/internal/collect/mutator.h"
#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

class World {
 public:
  // Of each thread that runs `late_thread_ms` after a stop was asked for, once a stop, `listener`
  // is told; without a listener standard error is, once a thread.  0: nobody is.
  World(uint32_t late_thread_ms, HeapListener* listener)
      : late_ns_(uint64_t{late_thread_ms} * 1'000'000), listener_(listener) {}

  // Adds the calling thread's mutator to the world and announces it to the tracker.  Waits for a
  // collection in progress.
  void Add(Mutator* mutator);
  // Leaves the mutator of the calling thread, which runs, in the world (kLeft).  The tracker
  // forgets it.  If another thread wants to stop the world, the caller parks first, because that
  // collector waits for it.  Returns true if the caller has to collect: no other thread is
  // attached, or the nurseries left since the last collection exceed one of the bounds below.
  bool Leave(Mutator* mutator);
  // Gives the calling thread a mutator that another thread has left, with the rest of its nursery.
  // Returns nullptr if none of them has room.  Waits for a collection in progress.
  Mutator* TakeOver(const StackRange& own_stack);
  // Called after a collection by the thread that has stopped the world: removes the mutators that
  // were left, which are linked by `next`.  A child of fork calls it before it resets the mutex,
  // and a heap that ends when no thread runs.
  Mutator* RemoveLeft();

  // Whether a thread wants all others to stand.  The owner of a limit executes a seq_cst fence
  // between storing the limit and this call.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Called by a running thread, at a point where a collection may happen.
  void ParkIfStopping(Mutator& mutator);

  // Stops all other threads.  Returns false if another thread has begun to stop the world: the
  // caller was then parked for that collection, and must check its state again.  `caller` is the
  // calling thread's mutator; nullptr when the thread is not attached or stands.
  bool Stop(Mutator* caller);
  // The same for a collection, which a thread may ask for in a loop: if this thread stopped the
  // world last time, too, it first waits until the others have come out of that stop, and have run
  // for a quarter of the time that it took, at most 10 ms.  Meanwhile it stands.  Not with a lock
  // held that another thread may wait for.
  bool StopInTurn(Mutator* caller);
  // The same, and again after the collections of others, until this thread has stopped the world.
  void StopSurely(Mutator* caller) {
    while (!Stop(caller)) {
    }
  }
  // Called by the thread that has stopped the world.
  void Resume();

  // The last stop, on the clock of pauses: when a thread asked for it, and when all others stood.
  // Called by the thread that has stopped the world.
  uint64_t requested_ns() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return requested_ns_; }
  uint64_t stood_ns() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return stood_ns_; }
  // The kernel's id of the thread that stood last; 0 if all others stood when the stop began.
  uint32_t last_to_stand() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS { return last_to_stand_; }

  void EnterNative(Mutator& mutator);
  void LeaveNative(Mutator& mutator);

  // Called by the thread that has stopped the world.
  Mutator* first() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // the stop takes the lock's place
    ALLOMON_DCHECK("inv.world", IsStoppedByMe());
    return first_;
  }
  // Returns the words that detached threads had allocated in their nurseries.
  uint64_t departed_words() const ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // as above
    ALLOMON_DCHECK("inv.world", IsStoppedByMe());
    return departed_words_;
  }

  // Called in a forked child by the thread that has stopped the world.  `survivor` is that thread's
  // mutator, nullptr if it is not attached.  Only this mutator stays in the world.  Returns the
  // first of the other mutators, which are linked by `next` and unknown to the tracker.
  Mutator* ResetAfterFork(Mutator* survivor);

  // Whether each mutator that there is was left by its thread.  Called before the world is
  // destroyed, when no other thread can refer to it.
  bool HasOnlyLeft();

  // For ALLOMON_DCHECK.
  bool IsStoppedByMe() const {
    return stopping() && stopper_thread_.load(std::memory_order_relaxed) == pthread_self();
  }

 private:
  void ParkLocked(Mutator& mutator) ALLOMON_REQUIRES(mutex_);
  void RequestStopLocked() ALLOMON_REQUIRES(mutex_);
  void WaitForResumeLocked() ALLOMON_REQUIRES(mutex_);
  void WaitForOthersLocked() ALLOMON_REQUIRES(mutex_);
  void TellOfLateThreadsLocked() ALLOMON_REQUIRES(mutex_);
  void StandLocked(Mutator& mutator, MutatorState as) ALLOMON_REQUIRES(mutex_);
  void RunLocked(Mutator& mutator, MutatorState was) ALLOMON_REQUIRES(mutex_);
  // Whether this thread stopped the world last, and others waited for it.  A stop by another thread
  // may come at any time, so the answer is asked for again under the mutex.
  bool OwesATurn() const {
    return held_.load(std::memory_order_relaxed) != 0 &&
           stopper_thread_.load(std::memory_order_relaxed) == pthread_self();
  }
  bool GiveOthersATurn(Mutator* caller);
  uint64_t EndOfTurnLocked() ALLOMON_REQUIRES(mutex_);
  void SleepInTurn(uint64_t until_ns, uint64_t stops) const;
  bool HasOthersLocked(const Mutator& mutator) const ALLOMON_REQUIRES(mutex_);
  bool CountsAgreeLocked() const ALLOMON_REQUIRES(mutex_);

  // Bounds of the nurseries that wait for a collection without a thread: their number, and their
  // bytes, which are eight nurseries of the default size.  A process has 4 GiB of addresses for
  // nurseries.
  static constexpr int kMostLeft = 8;
  static constexpr size_t kMostLeftBytes = size_t{16} << 20;

  const uint64_t late_ns_;
  HeapListener* const listener_;
  Mutex mutex_;
  Condition all_stand_;
  Condition resumed_;
  Condition came_;
  std::atomic<bool> stopping_{false};  // written under mutex_
  // The thread that has stopped the world, and its mutator if that was running; written under
  // mutex_.
  std::atomic<pthread_t> stopper_thread_{0};
  Mutator* stopper_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  int running_ ALLOMON_GUARDED_BY(mutex_) = 0;
  // Threads that wait for the world to be resumed, those that did when it last was, and those of
  // them that have not come out since: coming_ <= waiting_.
  int waiting_ ALLOMON_GUARDED_BY(mutex_) = 0;
  std::atomic<int> held_{0};  // written under mutex_
  int coming_ ALLOMON_GUARDED_BY(mutex_) = 0;
  std::atomic<uint64_t> stops_{0};  // written under mutex_
  uint64_t requested_ns_ ALLOMON_GUARDED_BY(mutex_) = 0;
  uint64_t stood_ns_ ALLOMON_GUARDED_BY(mutex_) = 0;
  uint64_t resumed_ns_ ALLOMON_GUARDED_BY(mutex_) = 0;
  uint32_t last_to_stand_ ALLOMON_GUARDED_BY(mutex_) = 0;
  Mutator* first_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  int left_ ALLOMON_GUARDED_BY(mutex_) = 0;           // mutators in kLeft
  size_t left_bytes_ ALLOMON_GUARDED_BY(mutex_) = 0;  // of their nurseries
  uint64_t departed_words_ ALLOMON_GUARDED_BY(mutex_) = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_WORLD_H_

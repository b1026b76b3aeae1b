// Stops and resumes the threads of a heap.  See "Threads" in runtime/README.md.
//
// A thread is running, or it stands: parked at a safepoint, or blocked in native code.
// inv.world: the heap is collected only while no thread runs, and no thread begins to run
// while `stopping`.
#ifndef ALLOMON_RUNTIME_INTERNAL_WORLD_H_
#define ALLOMON_RUNTIME_INTERNAL_WORLD_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace allomon::gc::internal {

class Mutator;

class World {
 public:
  // Waits for a collection that is going on.
  void Add(Mutator* mutator);
  // The caller runs; afterwards the collector does not know it any more.  A pending stop
  // is waited for standing: its collector waits for this very thread.
  void Remove(Mutator* mutator);

  // Whether somebody wants all threads to stand.  The owner of a limit executes a seq_cst
  // fence between storing the limit and asking.
  bool stopping() const { return stopping_.load(std::memory_order_relaxed); }

  // Called by a running thread, at a point where a collection may happen.
  void ParkIfStopping();

  // Stops all other threads.  Returns false if another thread had the same idea: then the
  // caller has been parked for that collection, and looks at its situation again.
  // `caller_runs` is false for a thread that is not attached or blocked in native code.
  bool Stop(bool caller_runs);
  void Resume(bool caller_runs);

  void EnterNative();
  void LeaveNative();

  // While the world is stopped.
  Mutator* first() const { return first_; }

  // In a forked child, stopped by the forking thread: only that one is left.
  void ResetAfterFork(Mutator* survivor, bool survivor_runs);

 private:
  void ParkLocked(std::unique_lock<std::mutex>& lock);
  void RequestStopLocked();

  std::mutex mutex_;
  std::condition_variable all_stand_;
  std::condition_variable resumed_;
  std::atomic<bool> stopping_{false};  // written under mutex_
  int running_ = 0;
  Mutator* first_ = nullptr;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_WORLD_H_

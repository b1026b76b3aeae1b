// Threads of the heap that help the collecting thread while the world is stopped.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_TEAM_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_TEAM_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>

#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// The threads block all signals, run no user code and call no malloc.  They touch the heap only
// within a job, which one collecting thread at a time begins and ends: the mutex orders all that it
// wrote before BeginJob() before the job, and all of the job before the end of EndJob().
class CollectorTeam {
 public:
  // `member`: from 1 to n_threads().
  using Job = void (*)(void* state, size_t member);
  static constexpr size_t kMostThreads = 31;

  CollectorTeam();
  // Ends the threads.  No job is in progress.
  ~CollectorTeam();
  CollectorTeam(const CollectorTeam&) = delete;
  CollectorTeam& operator=(const CollectorTeam&) = delete;

  // Starts threads until there are `wanted`, unless the machine has one processor or the system
  // has refused one.  Called by a thread that has not stopped a world.  Calls malloc.
  void Start(size_t wanted);
  // Any thread.
  size_t n_threads() const { return n_threads_.load(std::memory_order_relaxed); }

  // Wakes the threads, each of which calls job(state, its number), if that comes before EndJob().
  void BeginJob(Job job, void* state);
  // Waits for the calls that have begun.  No other call begins after it.
  void EndJob();

  // Called around fork, when no job is in progress.  The child has no threads until Start().
  void LockForFork();
  void UnlockAfterFork();
  void ResetInForkedChild();

 private:
  struct Member {
    CollectorTeam* team;
    size_t number;
    pthread_t thread;
  };

  static void* Run(void* member);
  void RunJobs(size_t number);

  Mutex mutex_;
  Condition woken_;
  Condition left_;
  std::atomic<size_t> n_threads_{0};  // written under mutex_
  bool refused_ ALLOMON_GUARDED_BY(mutex_) = false;
  bool is_to_end_ ALLOMON_GUARDED_BY(mutex_) = false;
  Job job_ ALLOMON_GUARDED_BY(mutex_) = nullptr;  // nullptr: no other call begins
  void* state_ ALLOMON_GUARDED_BY(mutex_) = nullptr;
  size_t n_jobs_ ALLOMON_GUARDED_BY(mutex_) = 0;    // that were begun
  size_t n_inside_ ALLOMON_GUARDED_BY(mutex_) = 0;  // calls in progress
  Member members_[kMostThreads];
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_COLLECTOR_TEAM_H_

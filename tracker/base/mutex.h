// A mutex and a condition variable that clang's thread safety analysis understands: those of
// libstdc++ carry no annotations.
//
// For code that may wait for user code or for other threads' work.  Not inside malloc, nor in a
// signal handler: SpinLock (spin_lock.h) is for these.
#ifndef ALLOMON_TRACKER_BASE_MUTEX_H_
#define ALLOMON_TRACKER_BASE_MUTEX_H_

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>

#include "tracker/base/check.h"
#include "tracker/base/thread_annotations.h"

namespace allomon::internal {

// Not recursive.  inv.lock.owner: the thread that releases a mutex is the one that took it, and no
// thread takes a mutex that it holds.  Only debug builds know the owner.
class ALLOMON_LOCKABLE Mutex {
 public:
  void lock() ALLOMON_ACQUIRE() {
    ALLOMON_DCHECK("inv.lock.owner", !IsHeldByMe());
    mutex_.lock();
    NoteOwner(pthread_self());
  }
  void unlock() ALLOMON_RELEASE() {
    ALLOMON_DCHECK("inv.lock.owner", IsHeldByMe());
    NoteOwner(0);
    mutex_.unlock();
  }

  // Whether the calling thread holds the mutex.  Only for ALLOMON_DCHECK: a release build does not
  // know and returns true.
  bool IsHeldForCheck() const { return !kDebugChecks || IsHeldByMe(); }

  // Called in the child of a fork, because a thread that the child does not have may hold the
  // mutex.
  void ResetInForkedChild() {
    new (&mutex_) std::mutex;
    NoteOwner(0);
  }

 private:
  friend class Condition;

  void NoteOwner(pthread_t owner) {
    if constexpr (kDebugChecks) owner_.store(owner, std::memory_order_relaxed);
  }
  // A thread sees its own stores in order, and no other thread's value equals its id.
  bool IsHeldByMe() const { return owner_.load(std::memory_order_relaxed) == pthread_self(); }

  std::mutex mutex_;
  std::atomic<pthread_t> owner_{0};
};

// Holds a mutex for the length of a scope.
class ALLOMON_SCOPED_LOCKABLE MutexHolder {
 public:
  explicit MutexHolder(Mutex& mutex) ALLOMON_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexHolder() ALLOMON_RELEASE() { mutex_.unlock(); }
  MutexHolder(const MutexHolder&) = delete;
  MutexHolder& operator=(const MutexHolder&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  // Releases the mutex while it waits.  May wake up spuriously, so the caller checks its condition
  // in a loop.  Unlike the C library's, it is no cancellation point: a cancelled thread would
  // abandon the state that it waits in, such as a stopped world.
  void Wait(Mutex& mutex) ALLOMON_REQUIRES(mutex) {
    WaitBy(mutex, [this](std::unique_lock<std::mutex>& lock) { condition_.wait(lock); });
  }
  // The same, for at most so many nanoseconds.
  void WaitFor(Mutex& mutex, uint64_t ns) ALLOMON_REQUIRES(mutex) {
    WaitBy(mutex, [this, ns](std::unique_lock<std::mutex>& lock) {
      condition_.wait_for(lock, std::chrono::nanoseconds(ns));
    });
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

  // Called in the child of a fork, because the variable counts waiters that the child does not
  // have.
  void ResetInForkedChild() { new (&condition_) std::condition_variable; }

 private:
  template <typename WaitOn>
  void WaitBy(Mutex& mutex, WaitOn wait_on) ALLOMON_REQUIRES(mutex) {
    int former = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former);
    mutex.NoteOwner(0);
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    wait_on(lock);
    lock.release();
    mutex.NoteOwner(pthread_self());
    pthread_setcancelstate(former, nullptr);
  }

  std::condition_variable condition_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_MUTEX_H_

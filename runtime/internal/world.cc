#include "runtime/internal/world.h"

#include <new>

#include "runtime/internal/mutator.h"

namespace allomon::gc::internal {

void World::Add(Mutator* mutator) {
  std::unique_lock<std::mutex> lock(mutex_);
  resumed_.wait(lock, [this] { return !stopping(); });
  mutator->next = first_;
  first_ = mutator;
  ++running_;
}

void World::Remove(Mutator* mutator) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping()) ParkLocked(lock);
  Mutator** link = &first_;
  while (*link != mutator) link = &(*link)->next;
  *link = mutator->next;
  --running_;
}

// Stands until the world goes on.  Another stop may begin before this thread gets the
// lock; it stands then already.
void World::ParkLocked(std::unique_lock<std::mutex>& lock) {
  if (--running_ == 0) all_stand_.notify_one();
  resumed_.wait(lock, [this] { return !stopping(); });
  ++running_;
}

void World::ParkIfStopping() {
  if (!stopping()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping()) ParkLocked(lock);
}

// Threads that stand are told too: their limits must not outlive their nurseries.
void World::RequestStopLocked() {
  stopping_.store(true, std::memory_order_relaxed);
  // Pairs with the fence in Mutator::PublishLimit(): either the owner of a limit sees
  // `stopping`, or its limit is overwritten here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    mutator->window->limit.store(0, std::memory_order_relaxed);
  }
}

bool World::Stop(bool caller_runs) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (stopping()) {
    if (caller_runs) {
      ParkLocked(lock);
    } else {
      resumed_.wait(lock, [this] { return !stopping(); });
    }
    return false;
  }
  RequestStopLocked();
  if (caller_runs) --running_;
  all_stand_.wait(lock, [this] { return running_ == 0; });
  return true;
}

void World::Resume(bool caller_runs) {
  std::lock_guard<std::mutex> hold(mutex_);
  stopping_.store(false, std::memory_order_relaxed);
  if (caller_runs) ++running_;
  resumed_.notify_all();
}

void World::EnterNative() {
  std::lock_guard<std::mutex> hold(mutex_);
  if (--running_ == 0) all_stand_.notify_one();
}

void World::LeaveNative() {
  std::unique_lock<std::mutex> lock(mutex_);
  resumed_.wait(lock, [this] { return !stopping(); });
  ++running_;
}

// The condition variables remember waiters that no longer exist.
void World::ResetAfterFork(Mutator* survivor, bool survivor_runs) {
  new (&mutex_) std::mutex;
  new (&all_stand_) std::condition_variable;
  new (&resumed_) std::condition_variable;
  first_ = survivor;
  if (survivor != nullptr) survivor->next = nullptr;
  running_ = survivor_runs ? 1 : 0;
  stopping_.store(false, std::memory_order_relaxed);
}

}  // namespace allomon::gc::internal

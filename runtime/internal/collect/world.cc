#include "runtime/internal/collect/world.h"

namespace allomon::gc::internal {
namespace {

// inv.mutator.state: called by the mutator's own thread, under the world's mutex.
void Change(Mutator& mutator, MutatorState from, MutatorState to) {
  ALLOMON_DCHECK_EQ("inv.mutator.state", mutator.state.load(std::memory_order_relaxed), from);
  mutator.state.store(to, std::memory_order_relaxed);
}

}  // namespace

void World::StandLocked(Mutator& mutator, MutatorState as) {
  Change(mutator, MutatorState::kRunning, as);
  if (--running_ == 0) all_stand_.NotifyOne();
  ALLOMON_DCHECK("inv.world.count", CountsAgreeLocked());
}

void World::RunLocked(Mutator& mutator, MutatorState was) {
  ALLOMON_DCHECK("inv.world", !stopping());
  Change(mutator, was, MutatorState::kRunning);
  ++running_;
  ALLOMON_DCHECK("inv.world.count", CountsAgreeLocked());
}

// inv.world.count: running_ is the number of the world's mutators that run.
bool World::CountsAgreeLocked() const {
  int running = 0;
  for (const Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    running += mutator->state.load(std::memory_order_relaxed) == MutatorState::kRunning ? 1 : 0;
  }
  return running == running_;
}

void World::WaitForResumeLocked() {
  while (stopping()) resumed_.Wait(mutex_);
}

// The tracker learns of a mutator, and forgets it, in the same step as the world.  A fork stops the
// world, so both know the mutator or neither does.  The child can then tell the tracker of the
// threads that do not exist in it.
void World::Add(Mutator* mutator) {
  const MutexHolder hold(mutex_);
  WaitForResumeLocked();
  mutator->next = first_;
  first_ = mutator;
  RunLocked(*mutator, MutatorState::kOutside);
  mutator->JoinTracker();
}

void World::Remove(Mutator* mutator) {
  const MutexHolder hold(mutex_);
  if (stopping()) ParkLocked(*mutator);
  Mutator** link = &first_;
  while (*link != mutator) link = &(*link)->next;
  *link = mutator->next;
  --running_;
  Change(*mutator, MutatorState::kRunning, MutatorState::kOutside);
  ALLOMON_DCHECK("inv.world.count", CountsAgreeLocked());
  LeaveLocked(*mutator);
}

void World::LeaveLocked(Mutator& mutator) {
  departed_words_ += mutator.allocated_words;
  mutator.LeaveTracker();
}

// Another stop may begin before this thread gets the mutex back; the thread already counts as
// standing then.
void World::ParkLocked(Mutator& mutator) {
  Stand(mutator);
  StandLocked(mutator, MutatorState::kParked);
  WaitForResumeLocked();
  RunLocked(mutator, MutatorState::kParked);
}

void World::ParkIfStopping(Mutator& mutator) {
  if (!stopping()) return;
  const MutexHolder hold(mutex_);
  if (stopping()) ParkLocked(mutator);
}

// Threads that stand are told, too, because their limits must not outlive their nurseries.
void World::RequestStopLocked() {
  stopping_.store(true, std::memory_order_relaxed);
  // Pairs with the fence in PublishLimit(): either the owner of a limit sees
  // `stopping`, or its limit is overwritten here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    mutator->window->limit.store(0, std::memory_order_relaxed);
  }
}

bool World::Stop(Mutator* caller) {
  const MutexHolder hold(mutex_);
  if (stopping()) {
    if (caller != nullptr) {
      ParkLocked(*caller);
    } else {
      WaitForResumeLocked();
    }
    return false;
  }
  RequestStopLocked();
  stopper_thread_.store(pthread_self(), std::memory_order_relaxed);
  stopper_ = caller;
  if (caller != nullptr) StandLocked(*caller, MutatorState::kStopping);
  while (running_ != 0) all_stand_.Wait(mutex_);
  return true;
}

void World::Resume() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.world", IsStoppedByMe());
  ALLOMON_DCHECK_EQ("inv.world", running_, 0);
  stopping_.store(false, std::memory_order_relaxed);
  if (stopper_ != nullptr) RunLocked(*stopper_, MutatorState::kStopping);
  resumed_.NotifyAll();
}

void World::EnterNative(Mutator& mutator) {
  const MutexHolder hold(mutex_);
  StandLocked(mutator, MutatorState::kNative);
}

void World::LeaveNative(Mutator& mutator) {
  const MutexHolder hold(mutex_);
  WaitForResumeLocked();
  RunLocked(mutator, MutatorState::kNative);
}

Mutator* World::ResetAfterFork(Mutator* survivor) {
  ALLOMON_DCHECK("inv.world", IsStoppedByMe());
  mutex_.ResetInForkedChild();
  all_stand_.ResetInForkedChild();
  resumed_.ResetInForkedChild();
  const MutexHolder hold(mutex_);
  Mutator* others = nullptr;
  while (first_ != nullptr) {
    Mutator* const mutator = first_;
    first_ = mutator->next;
    if (mutator == survivor) continue;
    mutator->state.store(MutatorState::kOutside, std::memory_order_relaxed);
    LeaveLocked(*mutator);
    mutator->next = others;
    others = mutator;
  }
  first_ = survivor;
  if (survivor != nullptr) survivor->next = nullptr;
  running_ = 0;
  stopping_.store(false, std::memory_order_relaxed);
  if (stopper_ != nullptr) RunLocked(*stopper_, MutatorState::kStopping);
  return others;
}

bool World::IsEmpty() {
  const MutexHolder hold(mutex_);
  return first_ == nullptr;
}

}  // namespace allomon::gc::internal

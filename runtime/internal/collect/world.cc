#include "runtime/internal/collect/world.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/internal/collect/mark_slices.h"
#include "tracker/base/uncancelled.h"

namespace allomon::gc::internal {
namespace {

// inv.mutator.state: called by the mutator's own thread, under the world's mutex.
void Change(Mutator& mutator, MutatorState from, MutatorState to) {
  ALLOMON_DCHECK_EQ("inv.mutator.state", mutator.state.load(std::memory_order_relaxed), from);
  mutator.state.store(to, std::memory_order_relaxed);
}

// fprintf and what reads the name are cancellation points; a thread that ended here would leave the
// others to wait for ever.
void SayThatLate(uint32_t thread_id, uint64_t waited_ns) {
  const allomon::internal::Uncancelled uncancelled;
  char path[64];
  char name[32] = "";
  snprintf(path, sizeof path, "/proc/self/task/%u/comm", thread_id);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const ssize_t length = read(file, name, sizeof name - 1);
    name[length > 0 ? length - 1 : 0] = '\0';  // a newline ends it
    close(file);
  }
  fprintf(stderr,
          "allomon: managed heap: all threads have waited %u ms for thread %u (%s): it computes "
          "without a safepoint; a Safepoint() in its loop, or a NativeRegion around it, lets them "
          "go on\n",
          static_cast<unsigned>(waited_ns / 1'000'000), thread_id, name);
}

}  // namespace

void World::StandLocked(Mutator& mutator, MutatorState as) {
  Change(mutator, MutatorState::kRunning, as);
  if (stopping()) last_to_stand_ = mutator.thread_id;
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
  if (!stopping()) return;
  ++waiting_;
  while (stopping()) resumed_.Wait(mutex_);
  --waiting_;
  if (coming_ != 0 && --coming_ == 0) came_.NotifyAll();
  ALLOMON_DCHECK_LE("inv.world.count", coming_, waiting_);
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

bool World::HasOthersLocked(const Mutator& mutator) const {
  for (const Mutator* other = first_; other != nullptr; other = other->next) {
    const MutatorState state = other->state.load(std::memory_order_relaxed);
    if (other != &mutator && state != MutatorState::kLeft) return true;
  }
  return false;
}

bool World::Leave(Mutator* mutator) {
  const MutexHolder hold(mutex_);
  if (stopping()) ParkLocked(*mutator);
  mutator->MoveOut();
  StandLocked(*mutator, MutatorState::kLeft);
  left_bytes_ += mutator->NurseryBytes();
  return ++left_ > kMostLeft || left_bytes_ > kMostLeftBytes || !HasOthersLocked(*mutator);
}

Mutator* World::TakeOver(const StackRange& own_stack) {
  const MutexHolder hold(mutex_);
  WaitForResumeLocked();
  for (Mutator* mutator = first_; left_ != 0 && mutator != nullptr; mutator = mutator->next) {
    if (mutator->state.load(std::memory_order_relaxed) != MutatorState::kLeft) continue;
    if (mutator->nursery.granted_bytes() <= kMaxYoungBytes) continue;
    --left_;
    left_bytes_ -= std::min(left_bytes_, mutator->NurseryBytes());  // a collection may resize it
    RunLocked(*mutator, MutatorState::kLeft);
    mutator->MoveIn(own_stack);
    return mutator;
  }
  return nullptr;
}

// Nobody else looks at the list while all threads stand.
Mutator* World::RemoveLeft() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  ALLOMON_DCHECK("inv.world", IsStoppedByMe() || running_ == 0);
  Mutator* removed = nullptr;
  for (Mutator** link = &first_; *link != nullptr;) {
    Mutator* const mutator = *link;
    if (mutator->state.load(std::memory_order_relaxed) != MutatorState::kLeft) {
      link = &mutator->next;
      continue;
    }
    *link = mutator->next;
    Change(*mutator, MutatorState::kLeft, MutatorState::kOutside);
    departed_words_ += mutator->allocated_words;
    mutator->next = removed;
    removed = mutator;
  }
  left_ = 0;
  left_bytes_ = 0;
  return removed;
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
  stops_.fetch_add(1, std::memory_order_relaxed);
  requested_ns_ = NowNs();
  last_to_stand_ = 0;
  if (coming_ != 0) came_.NotifyAll();
  // Pairs with the fence in PublishLimit(): either the owner of a limit sees
  // `stopping`, or its limit is overwritten here.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    mutator->window->limit.store(0, std::memory_order_relaxed);
  }
}

// Waits until the others have come out of this thread's last stop.  Returns the time at which their
// turn ends; 0 if there is none.
uint64_t World::EndOfTurnLocked() {
  constexpr uint64_t kPart = 4;  // of the pause, so the others have at least a fifth of the time
  // Pauses of seconds have other causes than a loop: a file that is written, a SIGSTOP, a debugger.
  constexpr uint64_t kLongestTurnNs = 10'000'000;
  if (!OwesATurn()) return 0;
  const uint64_t stops = stops_.load(std::memory_order_relaxed);
  while (coming_ != 0 && stops_.load(std::memory_order_relaxed) == stops) came_.Wait(mutex_);
  if (stops_.load(std::memory_order_relaxed) != stops) return 0;
  const uint64_t until_ns =
      resumed_ns_ + std::min((resumed_ns_ - requested_ns_) / kPart, kLongestTurnNs);
  return NowNs() >= until_ns ? 0 : until_ns;
}

// Ends early, by a part, when another thread stops the world: the turn is over then.
void World::SleepInTurn(uint64_t until_ns, uint64_t stops) const {
  constexpr uint64_t kPartNs = 1'000'000;
  while (stops_.load(std::memory_order_relaxed) == stops) {
    const uint64_t now_ns = NowNs();
    if (now_ns >= until_ns) return;
    const timespec part = {0, static_cast<long>(std::min(until_ns - now_ns, kPartNs))};
    nanosleep(&part, nullptr);
  }
}

// Returns false if another thread has stopped the world meanwhile.
bool World::GiveOthersATurn(Mutator* caller) {
  // A thread that is cancelled in its sleep would leave the heap as one that stands.
  const allomon::internal::Uncancelled uncancelled;
  uint64_t until_ns = 0;
  uint64_t stops = 0;
  {
    const MutexHolder hold(mutex_);
    until_ns = EndOfTurnLocked();
    if (until_ns == 0) return true;
    stops = stops_.load(std::memory_order_relaxed);
    if (caller != nullptr) {
      Stand(*caller);
      StandLocked(*caller, MutatorState::kNative);
    }
  }
  SleepInTurn(until_ns, stops);
  const MutexHolder hold(mutex_);
  WaitForResumeLocked();
  if (caller != nullptr) RunLocked(*caller, MutatorState::kNative);
  return stops_.load(std::memory_order_relaxed) == stops;
}

bool World::StopInTurn(Mutator* caller) {
  return (!OwesATurn() || GiveOthersATurn(caller)) && Stop(caller);
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
  last_to_stand_ = 0;
  stood_ns_ = requested_ns_;
  if (running_ == 0) return true;
  WaitForOthersLocked();
  stood_ns_ = NowNs();
  return true;
}

void World::WaitForOthersLocked() {
  const uint64_t late_at_ns = requested_ns_ + late_ns_;
  for (uint64_t now_ns = requested_ns_; late_ns_ != 0 && running_ != 0; now_ns = NowNs()) {
    if (now_ns >= late_at_ns) {
      TellOfLateThreadsLocked();
      break;
    }
    all_stand_.WaitFor(mutex_, late_at_ns - now_ns);
  }
  while (running_ != 0) all_stand_.Wait(mutex_);
}

void World::TellOfLateThreadsLocked() {
  const uint64_t waited_ns = NowNs() - requested_ns_;
  for (Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    if (!mutator->runs()) continue;
    if (listener_ != nullptr) {
      listener_->OnLateThread(mutator->thread_id, waited_ns);
    } else if (!std::exchange(mutator->was_late, true)) {
      SayThatLate(mutator->thread_id, waited_ns);
    }
  }
}

void World::Resume() {
  const MutexHolder hold(mutex_);
  ALLOMON_DCHECK("inv.world", IsStoppedByMe());
  ALLOMON_DCHECK_EQ("inv.world", running_, 0);
  stopping_.store(false, std::memory_order_relaxed);
  if (stopper_ != nullptr) RunLocked(*stopper_, MutatorState::kStopping);
  coming_ = waiting_;
  held_.store(waiting_, std::memory_order_relaxed);
  if (waiting_ != 0) resumed_ns_ = NowNs();
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
  came_.ResetInForkedChild();
  const MutexHolder hold(mutex_);
  Mutator* others = nullptr;
  while (first_ != nullptr) {
    Mutator* const mutator = first_;
    first_ = mutator->next;
    if (mutator == survivor) continue;
    const bool has_left = mutator->state.load(std::memory_order_relaxed) == MutatorState::kLeft;
    mutator->state.store(MutatorState::kOutside, std::memory_order_relaxed);
    departed_words_ += mutator->allocated_words;
    if (!has_left) mutator->LeaveTracker();
    mutator->next = others;
    others = mutator;
  }
  first_ = survivor;
  if (survivor != nullptr) survivor->next = nullptr;
  running_ = waiting_ = coming_ = left_ = 0;
  left_bytes_ = 0;
  held_.store(0, std::memory_order_relaxed);
  stopping_.store(false, std::memory_order_relaxed);
  if (stopper_ != nullptr) RunLocked(*stopper_, MutatorState::kStopping);
  return others;
}

bool World::HasOnlyLeft() {
  const MutexHolder hold(mutex_);
  for (const Mutator* mutator = first_; mutator != nullptr; mutator = mutator->next) {
    if (mutator->state.load(std::memory_order_relaxed) != MutatorState::kLeft) return false;
  }
  return true;
}

}  // namespace allomon::gc::internal

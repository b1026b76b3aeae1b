#include "runtime/internal/collect/collector_team.h"

#include <algorithm>

#include "runtime/internal/collect/own_thread.h"
#include "tracker/base/uncancelled.h"

namespace allomon::gc::internal {

CollectorTeam::CollectorTeam() {
  for (size_t i = 0; i < kMostThreads; ++i) members_[i] = {this, i + 1, {}};
}

CollectorTeam::~CollectorTeam() {
  {
    const MutexHolder hold(mutex_);
    is_to_end_ = true;
    woken_.NotifyAll();
  }
  const allomon::internal::Uncancelled uncancelled;
  for (size_t i = 0; i < n_threads(); ++i) pthread_join(members_[i].thread, nullptr);
}

void CollectorTeam::Start(size_t wanted) {
  wanted = std::min(wanted, kMostThreads);
  if (n_threads() >= wanted) return;
  const MutexHolder hold(mutex_);
  refused_ = refused_ || CountProcessors() < 2;
  while (!refused_ && n_threads() < wanted) {
    Member& member = members_[n_threads()];
    refused_ = !StartOwnThread(&member.thread, Run, &member);
    if (!refused_) n_threads_.fetch_add(1, std::memory_order_relaxed);
  }
}

void CollectorTeam::BeginJob(Job job, void* state) {
  const MutexHolder hold(mutex_);
  job_ = job;
  state_ = state;
  ++n_jobs_;
  woken_.NotifyAll();
}

void CollectorTeam::EndJob() {
  const MutexHolder hold(mutex_);
  job_ = nullptr;
  while (n_inside_ != 0) left_.Wait(mutex_);
}

void* CollectorTeam::Run(void* member) {
  const Member& self = *static_cast<const Member*>(member);
  self.team->RunJobs(self.number);
  return nullptr;
}

void CollectorTeam::RunJobs(size_t number) ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // unlocks between
  mutex_.lock();
  for (size_t seen = 0; !is_to_end_;) {
    if (job_ == nullptr || n_jobs_ == seen) {
      woken_.Wait(mutex_);
      continue;
    }
    seen = n_jobs_;
    const Job job = job_;
    void* const state = state_;
    ++n_inside_;
    mutex_.unlock();
    job(state, number);
    mutex_.lock();
    if (--n_inside_ == 0) left_.NotifyOne();
  }
  mutex_.unlock();
}

void CollectorTeam::LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  mutex_.lock();
}

void CollectorTeam::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

void CollectorTeam::ResetInForkedChild() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  woken_.ResetInForkedChild();
  left_.ResetInForkedChild();
  n_threads_.store(0, std::memory_order_relaxed);
}

}  // namespace allomon::gc::internal

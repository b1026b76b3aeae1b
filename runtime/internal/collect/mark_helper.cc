#include "runtime/internal/collect/mark_helper.h"

#include "runtime/internal/collect/own_thread.h"
#include "runtime/internal/space/chunk_stock.h"
#include "tracker/base/uncancelled.h"

namespace allomon::gc::internal {
MarkHelper::~MarkHelper() {
  pthread_t thread = {};
  {
    const MutexHolder hold(mutex_);
    if (state_ != State::kRuns) return;
    is_to_end_ = true;
    thread = thread_;
    woken_.NotifyOne();
  }
  const allomon::internal::Uncancelled uncancelled;
  pthread_join(thread, nullptr);
}

void MarkHelper::StartLocked() {
  pthread_t thread = {};
  const bool started = CountProcessors() > 1 && StartOwnThread(&thread, Run, this);
  thread_ = thread;
  state_ = started ? State::kRuns : State::kRefused;
}

void MarkHelper::Wake(Work work) {
  const MutexHolder hold(mutex_);
  work_ = work;
  if (state_ == State::kNone) StartLocked();
  if (state_ != State::kRuns || has_work_) return;
  has_work_ = true;
  woken_.NotifyOne();
}

// The flag is cleared before the slice runs, so work that arrives while the slice finds nothing is
// not lost.
bool MarkHelper::WaitForWork() {
  const MutexHolder hold(mutex_);
  while (!has_work_ && !is_to_end_) woken_.Wait(mutex_);
  has_work_ = false;
  return !is_to_end_;
}

MarkHelper::Work MarkHelper::WorkToDo() {
  const MutexHolder hold(mutex_);
  return is_to_end_ ? nullptr : work_;
}

void MarkHelper::RunUntilStopped() {
  while (WaitForWork()) {
    for (Work work = WorkToDo(); work != nullptr && (stock_.Add() || work(heap_));) {
      work = WorkToDo();
    }
  }
}

void* MarkHelper::Run(void* helper) {
  static_cast<MarkHelper*>(helper)->RunUntilStopped();
  return nullptr;
}

void MarkHelper::LockForFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {  // held across functions
  mutex_.lock();
}

void MarkHelper::UnlockAfterFork() ALLOMON_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

void MarkHelper::ResetInForkedChild() ALLOMON_NO_THREAD_SAFETY_ANALYSIS {
  woken_.ResetInForkedChild();
  if (state_ == State::kRuns) state_ = State::kNone;
  has_work_ = false;
}

}  // namespace allomon::gc::internal

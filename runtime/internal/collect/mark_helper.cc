#include "runtime/internal/collect/mark_helper.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>

#include "runtime/internal/space/chunk_stock.h"
#include "tracker/base/uncancelled.h"
#include "tracker/heap_client.h"

namespace allomon::gc::internal {
namespace {

bool HasSecondProcessor() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  return sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

// Starts a thread with all signals blocked: the host's handlers run on the host's threads.
bool StartThread(pthread_t* thread, void* (*run)(void*), void* argument) {
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The stack size suffices for its frames and the C library's data.
  pthread_attr_setstacksize(&attributes, std::max<size_t>(PTHREAD_STACK_MIN, 256 << 10));
  const bool started = pthread_create(thread, &attributes, run, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (started) pthread_setname_np(*thread, "allomon-gc");
  return started;
}

}  // namespace

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

// The C library's malloc may call user code here, which must not meet a half-started thread.
void MarkHelper::StartLocked() {
  bool started = false;
  pthread_t thread = {};
  if (HasSecondProcessor()) {
    heap_client::RunUnjudged([&] { started = StartThread(&thread, Run, this); });
  }
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

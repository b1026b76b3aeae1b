#include "tracker/allocation_clock.h"

#include "tracker/core/registry.h"
#include "tracker/managed_profiler.h"

namespace allomon {
namespace internal {

std::atomic<const ManagedProfiler*> managed_profiler{nullptr};

namespace {

AllocationClock* g_clocks = nullptr;  // guarded by the registry's lock
__thread AllocationClock* thread_clock __attribute__((ALLOMON_TLS_MODEL));

// The owner changes it without synchronisation: a reader gets a recent value.
__attribute__((no_sanitize("thread"))) uintptr_t Read(const uintptr_t* cursor) {
  return *static_cast<const volatile uintptr_t*>(cursor);
}

}  // namespace

AllocationClock* ThreadAllocationClock() { return thread_clock; }

void VisitAllocationClocks(void (*visit)(AllocationClock& clock)) {
  const TickSafeLockHolder hold(Registry::Get().lock());
  for (AllocationClock* clock = g_clocks; clock != nullptr; clock = clock->next_) visit(*clock);
}

}  // namespace internal

using internal::g_clocks;
using internal::Registry;
using internal::SpinLockHolder;
using internal::thread_clock;
using internal::TickSafeLockHolder;

void AllocationClock::Start(uintptr_t* cursor) {
  cursor_ = cursor;
  {
    const SpinLockHolder hold(lock_);
    taken_ = *cursor;
  }
  if (thread_clock != nullptr) return;
  thread_clock = this;
  runs_ = true;
  const TickSafeLockHolder hold(Registry::Get().lock());
  previous_ = nullptr;
  next_ = g_clocks;
  if (next_ != nullptr) next_->previous_ = this;
  g_clocks = this;
}

void AllocationClock::End() {
  if (!runs_) return;
  runs_ = false;
  if (thread_clock == this) {
    const auto* profiler = internal::managed_profiler.load(std::memory_order_acquire);
    if (profiler != nullptr) profiler->settle(*this);
    thread_clock = nullptr;
  }
  const TickSafeLockHolder hold(Registry::Get().lock());
  (previous_ != nullptr ? previous_->next_ : g_clocks) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void AllocationClock::MoveTo(uintptr_t to) {
  const SpinLockHolder hold(lock_);
  taken_ += to - *cursor_;
  *cursor_ = to;
}

void AllocationClock::Add(uint64_t bytes) {
  const SpinLockHolder hold(lock_);
  taken_ -= bytes;
}

uint64_t AllocationClock::Take() {
  const SpinLockHolder hold(lock_);
  const uintptr_t cursor = internal::Read(cursor_);
  const uint64_t bytes = cursor - taken_;
  taken_ = cursor;
  return bytes;
}

}  // namespace allomon

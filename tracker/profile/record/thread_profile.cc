#include "tracker/profile/record/thread_profile.h"

#include "tracker/base/check.h"
#include "tracker/profile/record/managed_places.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/shadow_frames.h"

namespace allomon::internal {

__thread ThreadProfile thread_profile;
__thread OpenScopes open_scopes;

namespace {

// The record of the function that calls it.
__attribute__((always_inline)) inline bool HasReturned(const ThreadProfile& thread) {
  const auto record = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  return HasReturned(*thread.top, record, thread.stack);
}

// Scopes of one frame, of functions inlined into another, have the same address and close in order.
// So an entry has returned only if its frame is strictly below.
void PopBelow(ThreadProfile& thread, uintptr_t frame) {
  while (thread.top->frame < frame || HasReturned(thread)) PopEntry(thread);
}

}  // namespace

void CountEntry(ThreadProfile& thread, uint32_t function) {
  const uint64_t step = thread.step.load(std::memory_order_relaxed);
  if (step == 0) return;
  ThreadCounts* const counts = thread.step_counts.load(std::memory_order_relaxed);
  ALLOMON_DCHECK_NE("inv.count.step", counts, nullptr);
  counts->Charge(function, step);
}

void NoteRunning(ThreadProfile& thread) {
  const uint32_t function = TopFunction(thread);
  thread.running.store(function, std::memory_order_relaxed);
  DoNotWatchCallsOf(function);
}

void LeaveAllFunctions(ThreadProfile& thread) {
  while (thread.top != thread.bottom) PopEntry(thread);
}

void EnterFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function) {
  if (thread.top != nullptr && IsOnOwnStack(thread, frame)) {
    PopBelow(thread, frame);
    if (thread.top < thread.limit) PushEntry(thread, frame, 0, function);
  }
  // The entry is counted after the push, because it is part of the function's own stack count.
  CountEntry(thread, function);
  NoteRunning(thread);
}

void LeaveFunction(ThreadProfile& thread, uintptr_t frame, uint32_t function) {
  if (thread.top == nullptr) return;
  while (thread.top->frame < frame) PopEntry(thread);
  if (thread.top->frame == frame && thread.top->function == function) PopEntry(thread);
  NoteRunning(thread);
}

void PopDead(ThreadProfile& thread, uintptr_t sp) {
  if (!IsOnOwnStack(thread, sp)) return;
  if (thread.top->frame >= sp && !HasReturned(thread)) return;
  while (thread.top->frame < sp || HasReturned(thread)) PopEntry(thread);
  NoteRunning(thread);
}

void AddToStackTimesSlow(ThreadProfile& thread, uintptr_t sp, uint64_t amount) {
  CatchUp(thread);
  PopDead(thread, sp);
  thread.counts->total.fetch_add(amount, std::memory_order_relaxed);
}

uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp) {
  CatchUp(thread);
  if (thread.top != nullptr) PopDead(thread, sp);
  return thread.collecting != 0 ? uint32_t{kGcSource} : TopFunction(thread);
}

}  // namespace allomon::internal

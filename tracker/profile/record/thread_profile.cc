#include "tracker/profile/record/thread_profile.h"

#include "tracker/base/check.h"
#include "tracker/callstack/capture.h"
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

// Whether the code at `pc` may be that of the hooked function, from its hook on.  Code of which
// nothing is known may be a stub.
bool MayRunAt(uintptr_t pc, uint32_t function) {
  const HookPlaces* const places = hook_places.load(std::memory_order_acquire);
  const uint32_t hook = function - kFirstHookIndex;
  if (places == nullptr || hook >= hooked_functions.load(std::memory_order_relaxed)) return true;
  const uintptr_t start = FunctionStart(pc);
  return start == pc || start == FunctionStart(BodyOf(places->starts[hook]));
}

// The code that hooks call has a return address of its own, below the function that enters.
bool IsEntryCode(uintptr_t pc) {
  const HookPlaces* const places = hook_places.load(std::memory_order_acquire);
  if (places == nullptr) return false;
  const uintptr_t start = FunctionStart(pc);
  return start == FunctionStart(places->entry_code[0]) ||
         start == FunctionStart(places->entry_code[1]);
}

// A function that has stored no return address runs, or has returned: it called nothing.
bool HasReturnedBefore(const ThreadProfile& thread, const FrameState& interrupted) {
  const ShadowEntry& entry = *thread.top;
  if (entry.return_address == 0) return false;
  const bool is_elsewhere = !kReturnAddressHasAPlace && !MayRunAt(interrupted.pc, entry.function);
  return ReturnAddressIsGone(entry, interrupted.bp, interrupted.sp, thread.stack, is_elsewhere);
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

void PopDead(ThreadProfile& thread, const FrameState& interrupted) {
  if (!IsOnOwnStack(thread, interrupted.sp)) return;
  if (!kReturnAddressHasAPlace && IsEntryCode(interrupted.pc)) return;
  const ShadowEntry* const seen = thread.top;
  while (thread.top->frame < interrupted.sp || HasReturnedBefore(thread, interrupted)) {
    PopEntry(thread);
  }
  if (thread.top != seen) NoteRunning(thread);
}

namespace {

template <typename Where>
void AddAfterPops(ThreadProfile& thread, const Where& where, uint64_t amount) {
  CatchUp(thread);
  PopDead(thread, where);
  thread.counts->total.fetch_add(amount, std::memory_order_relaxed);
}

template <typename Where>
uint32_t RunningAfterPops(ThreadProfile& thread, const Where& where) {
  CatchUp(thread);
  if (thread.top != nullptr) PopDead(thread, where);
  return thread.collecting != 0 ? uint32_t{kGcSource} : TopFunction(thread);
}

}  // namespace

void AddToStackTimesSlow(ThreadProfile& thread, uintptr_t sp, uint64_t amount) {
  AddAfterPops(thread, sp, amount);
}
void AddToStackTimesSlow(ThreadProfile& thread, const FrameState& interrupted, uint64_t amount) {
  AddAfterPops(thread, interrupted, amount);
}

uint32_t RunningFunction(ThreadProfile& thread, uintptr_t sp) {
  return RunningAfterPops(thread, sp);
}
uint32_t RunningFunction(ThreadProfile& thread, const FrameState& interrupted) {
  return RunningAfterPops(thread, interrupted);
}

}  // namespace allomon::internal

#include "tracker/profile/sources/managed_calls.h"

#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/clock_charging.h"

namespace allomon::internal {
namespace {

void OnOpen(uintptr_t address, uintptr_t frame) {
  ThreadProfile& thread = thread_profile;
  if (!thread.attached) AttachThread();
  const BusyScope busy;
  CatchUp(thread);
  ChargeClock(thread);
  EnterFunction(thread, frame, PlaceOfManagedCall(address));
}

void OnEnd(const ManagedEntry* from) {
  ThreadProfile& thread = thread_profile;
  const BusyScope busy;
  CatchUp(thread);
  ChargeClock(thread);
  for (const ManagedEntry* call = managed_stack.top; call-- > from;) {
    if ((call->address & kWatched) == 0) continue;
    LeaveFunction(thread, call->frame, PlaceOfManagedCall(call->address));
  }
}

constexpr ManagedCallWatcher kWatcher = {OnOpen, OnEnd};

}  // namespace

void WatchManagedCalls(bool watch) {
  managed_call_watcher.store(watch ? &kWatcher : nullptr, std::memory_order_release);
}

OpenCalls OpenManagedCalls() {
  const bool watches = managed_call_watcher.load(std::memory_order_relaxed) != nullptr;
  return watches ? OpenCalls{managed_stack.base, managed_stack.top} : OpenCalls{};
}

// Entry hooks come on top without a word.
void DoNotWatchCallsOf(uint32_t function) {
  const uint32_t first = first_managed_place.load(std::memory_order_relaxed);
  const bool may_repeat = function >= first && !recording.Records(ProfileKind::kCount) &&
                          hooked_functions.load(std::memory_order_relaxed) == 0;
  managed_stack.running.store(may_repeat ? ManagedFunctionAddress(function - first) : 0,
                              std::memory_order_relaxed);
}

uint32_t PlaceOfManagedCall(uintptr_t address) {
  return IndexOfManaged(ManagedFunctionNumber(address));
}

}  // namespace allomon::internal

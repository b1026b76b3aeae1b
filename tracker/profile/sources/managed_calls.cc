#include "tracker/profile/sources/managed_calls.h"

#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/managed_places.h"
#include "tracker/profile/record/thread_attachment.h"
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

}  // namespace allomon::internal

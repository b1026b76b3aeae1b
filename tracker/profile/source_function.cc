#include "tracker/profile/source_function.h"

#include "tracker/profile/record/busy_scope.h"
#include "tracker/profile/record/recording.h"
#include "tracker/profile/record/thread_attachment.h"
#include "tracker/profile/record/thread_profile.h"
#include "tracker/profile/sources/clock_charging.h"

namespace allomon::internal {
namespace {

// The entry of a scope for which there is no room.  It is above every limit, so that the scope's
// end takes the slow path as well.
ScopeEntry* NoRoom() { return reinterpret_cast<ScopeEntry*>(UINTPTR_MAX); }

}  // namespace

// A signal handler may interrupt the thread in the middle of a change of its shadow stack.  In such
// a handler a scope is counted and not pushed (inv.shadow.busy).
ScopeEntry* EnterScopeSlow(const SourceFunction& function, void* frame) {
  ThreadProfile& thread = thread_profile;
  const bool was_busy = thread.busy;
  if (!was_busy) AttachThread();
  const BusyScope busy;
  const uintptr_t address = reinterpret_cast<uintptr_t>(frame);
  if (was_busy) {
    CountEntry(thread, PlaceOf(function));
  } else if (recording.on.load(std::memory_order_relaxed)) {
    CatchUp(thread);
    ChargeClock(thread);
    EnterFunction(thread, address, PlaceOf(function));
  }
  if (open_scopes.top == open_scopes.end) return NoRoom();
  *open_scopes.top = {address, &function};
  return open_scopes.top++;
}

// If another scope below was left by longjmp, this scope's entry is still its own.
void LeaveScopeSlow(ScopeEntry* entry) {
  if (entry == NoRoom() || entry >= open_scopes.top) return;
  ThreadProfile& thread = thread_profile;
  const bool was_busy = thread.busy;
  const BusyScope busy;
  if (!was_busy && recording.on.load(std::memory_order_relaxed)) {
    CatchUp(thread);
    ChargeClock(thread);
    LeaveFunction(thread, entry->frame, PlaceOf(*entry->function));
  }
  open_scopes.top = entry;
}

}  // namespace allomon::internal

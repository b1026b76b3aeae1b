// Puts the scopes and managed calls that a thread had open at the start of a profile onto its
// shadow stack: they are not kept there while nothing is recorded.  Functions with hooks are on the
// shadow stack already.
#include <algorithm>

#include "tracker/base/check.h"
#include "tracker/callstack/managed_functions.h"
#include "tracker/profile/record/managed_places.h"
#include "tracker/profile/record/thread_profile.h"

namespace allomon::internal {
namespace {

// Drops the scopes and managed calls of an earlier profile, some of which may have ended unnoticed.
void DropAllButHooked(ThreadProfile& thread) {
  ShadowEntry* kept = thread.bottom;
  for (ShadowEntry* entry = thread.bottom + 1; entry <= thread.top; ++entry) {
    if (entry->return_address != 0) {
      *++kept = *entry;
    } else if (entry->cell != nullptr) {
      LeaveCell(entry->cell);
    }
  }
  thread.top = kept;
}

// Merges three stacks, in each of which frames do not descend from top to bottom, into one, from
// the top.
class Merge {
 public:
  explicit Merge(ThreadProfile& thread)
      : hooked_(thread.top),
        hooked_bottom_(thread.bottom),
        scope_(open_scopes.top),
        scopes_(open_scopes.first),
        call_(OpenManagedCalls().top),
        calls_(OpenManagedCalls().base) {}

  size_t added() const { return static_cast<size_t>((scope_ - scopes_) + (call_ - calls_)); }

  // The innermost entry that is not merged yet.
  ShadowEntry Next() {
    const uintptr_t scope = scope_ > scopes_ ? scope_[-1].frame : UINTPTR_MAX;
    const uintptr_t call = call_ > calls_ ? call_[-1].frame : UINTPTR_MAX;
    const uintptr_t hooked = hooked_ > hooked_bottom_ ? hooked_->frame : UINTPTR_MAX;
    if (hooked < std::min(scope, call)) return *hooked_--;
    if (call <= scope) {
      --call_;
      call_->address |= kWatched;
      return {call, 0, nullptr, PlaceOfManagedCall(call_->address)};
    }
    --scope_;
    return {scope, 0, nullptr, PlaceOf(*scope_->function)};
  }

 private:
  ShadowEntry* hooked_;
  ShadowEntry* const hooked_bottom_;
  ScopeEntry* scope_;
  ScopeEntry* const scopes_;
  ManagedEntry* call_;
  ManagedEntry* const calls_;
};

// False also after the start of a profile of another kind, which clears the cells of functions on
// the stack.
bool IsEntered(const ShadowEntry& entry) { return entry.cell != nullptr && IsOnStack(*entry.cell); }

}  // namespace

void CatchUpSlow(ThreadProfile& thread) {
  ALLOMON_DCHECK("inv.shadow.busy", thread.busy);
  thread.start_seen = recording.starts.load(std::memory_order_relaxed);
  if (thread.top == nullptr) return;
  DropAllButHooked(thread);
  Merge merge(thread);
  // If there is no room for all entries, no entry is added.
  if (merge.added() > static_cast<size_t>(thread.limit - thread.top)) return;
  ShadowEntry* const top = thread.top + merge.added();
  for (ShadowEntry* to = top; merge.added() != 0; --to) *to = merge.Next();
  thread.top = top;
  EnterOpenFunctions(thread);
  NoteRunning(thread);
}

void EnterOpenFunctions(ThreadProfile& thread) {
  FunctionCell* const cells = thread.cells.load(std::memory_order_relaxed);
  if (cells == nullptr || thread.top == nullptr) return;
  // The order is from the outermost entry to the innermost: a function is on the stack from its
  // outermost occurrence on.
  for (ShadowEntry* entry = thread.bottom + 1; entry <= thread.top; ++entry) {
    if (IsEntered(*entry) || entry->function >= thread.counts->functions) continue;
    FunctionCell* const cell = cells + entry->function;
    if (IsOnStack(*cell)) continue;
    entry->cell = cell;
    EnterCell(cell, thread.counts);
  }
}

}  // namespace allomon::internal

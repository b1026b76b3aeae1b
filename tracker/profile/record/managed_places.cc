#include "tracker/profile/record/managed_places.h"

#include "tracker/profile/record/recording.h"

namespace allomon::internal {

OpenCalls OpenManagedCalls() {
  const bool watches = managed_call_watcher.load(std::memory_order_relaxed) != nullptr;
  return watches ? OpenCalls{managed_stack.base, managed_stack.top} : OpenCalls{};
}

// Entry hooks push functions without a call of NoteRunning(), so in a program that has hooks every
// managed call is watched.
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

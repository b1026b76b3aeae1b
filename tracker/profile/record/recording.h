// The state of the recording, for the whole process.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_RECORDING_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_RECORDING_H_

#include <atomic>
#include <cstdint>

#include "tracker/formats/profile_kind.h"
#include "tracker/profile/record/registered_functions.h"

namespace allomon::internal {

struct Recording {
  std::atomic<bool> on{false};
  // Changed only while `on` is false, under the units' lock.
  std::atomic<ProfileKind> kind{ProfileKind::kAlloc};
  std::atomic<ProfileStyle> style{ProfileStyle::kCurrent};

  // Decided at the start: functions that are registered later do not change it.
  std::atomic<bool> charges_callstacks{true};
  // Whether bytes of managed heaps are charged where functions begin and end, by allocation clocks.
  // Otherwise they are charged by samples, as other bytes are.
  std::atomic<bool> takes_clocks{false};
  // The number of starts.  The scopes and calls that a thread has open are put onto its shadow
  // stack once for each start.
  std::atomic<uint32_t> starts{0};

  bool Records(ProfileKind wanted) const {
    return on.load(std::memory_order_relaxed) && kind.load(std::memory_order_relaxed) == wanted;
  }
  bool stack_style() const { return style.load(std::memory_order_relaxed) == ProfileStyle::kStack; }
};
extern Recording recording __attribute__((visibility("hidden")));

// The table of functions has, in this order, the fixed three, the functions with entry hooks, and
// the functions with ALLOMON_FUNCTION() in the order of their registration.
inline constexpr uint32_t kFirstHookIndex = 3;
// The number of functions with hooks; known after the first start or after the answer to
// show-sources.
extern std::atomic<uint32_t> hooked_functions __attribute__((visibility("hidden")));
// The no-ops of these functions, by hook number, and the functions that each hook runs.  Set with
// the number, never freed.
struct HookPlaces {
  const uintptr_t* starts;
  uintptr_t entry_code[2];
};
extern std::atomic<const HookPlaces*> hook_places __attribute__((visibility("hidden")));
// Whether this executable tells mlprof its functions, that is, whether show_sources.cc is linked
// into it.
extern std::atomic<bool> answers_for_itself __attribute__((visibility("hidden")));

inline uint32_t IndexOfHook(uint32_t hook) { return kFirstHookIndex + hook; }
// `function_id` is SourceFunction::id, from 1.
inline uint32_t IndexOfRegistered(uint32_t function_id) {
  return kFirstHookIndex + hooked_functions.load(std::memory_order_relaxed) + function_id - 1;
}
// If a library that was loaded late brings more functions than there is room for, these have the
// place of <unknown>.
uint32_t PlaceOf(const SourceFunction& function);
uint32_t FunctionTableSize();

// Functions of managed programs (managed_functions.h) follow all of these, at places of their own
// from first_managed_place on, because they are registered while the program runs.  Functions for
// which there is no room have the place of <unknown>.
inline constexpr uint32_t kManagedPlaces = 65536;
extern std::atomic<uint32_t> first_managed_place __attribute__((visibility("hidden")));
uint32_t IndexOfManaged(uint32_t number);

// Whether a recording of this kind charges call stacks, which become functions when the profile is
// written.  It does in a program that names no functions.  For time and allocation it also does in
// a program that has entry hooks only; the hooks are then installed for stack times alone.
bool WouldChargeCallstacks(ProfileKind kind);
inline bool ChargesCallstacks() {
  return recording.charges_callstacks.load(std::memory_order_relaxed);
}

// Whether the program text names its functions, so that charging them needs no look-up in symbol
// tables.
bool HasFunctions();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_RECORDING_H_

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
  // Change only while off, under the units' lock.
  std::atomic<ProfileKind> kind{ProfileKind::kAlloc};
  std::atomic<ProfileStyle> style{ProfileStyle::kCurrent};

  // Decided at the start: functions that are registered later do not change it.
  std::atomic<bool> charges_callstacks{true};
  // Whether bytes of managed heaps are charged where functions begin and end, by allocation clocks;
  // otherwise they are samples like any other.
  std::atomic<bool> takes_clocks{false};
  // Counts the starts: what a thread has open is put onto its shadow stack once for each.
  std::atomic<uint32_t> starts{0};

  bool Records(ProfileKind wanted) const {
    return on.load(std::memory_order_relaxed) && kind.load(std::memory_order_relaxed) == wanted;
  }
  bool stack_style() const { return style.load(std::memory_order_relaxed) == ProfileStyle::kStack; }
};
extern Recording recording __attribute__((visibility("hidden")));

// The places in the table of functions: the fixed three, those with entry hooks, those with
// ALLOMON_FUNCTION() in the order of their registration.
inline constexpr uint32_t kFirstHookIndex = 3;
// The number of functions with hooks; known from the first start or the answer to show-sources on.
extern std::atomic<uint32_t> hooked_functions __attribute__((visibility("hidden")));
// Whether this executable tells mlprof its functions: show_sources.cc is linked into it.
extern std::atomic<bool> answers_for_itself __attribute__((visibility("hidden")));

inline uint32_t IndexOfHook(uint32_t hook) { return kFirstHookIndex + hook; }
// `function_id` is SourceFunction::id, from 1.
inline uint32_t IndexOfRegistered(uint32_t function_id) {
  return kFirstHookIndex + hooked_functions.load(std::memory_order_relaxed) + function_id - 1;
}
// A library that was loaded late may bring more functions than there is room for: they are
// <unknown>.
uint32_t PlaceOf(const SourceFunction& function);
uint32_t FunctionTableSize();

// Functions of managed programs (managed_functions.h) come behind all of these, at places of their
// own from first_managed_place on: they are registered while the program runs.  Those for which
// there is no room are <unknown>.
inline constexpr uint32_t kManagedPlaces = 65536;
extern std::atomic<uint32_t> first_managed_place __attribute__((visibility("hidden")));
uint32_t IndexOfManaged(uint32_t number);

// Whether what is recorded is, or would be, charged to call stacks, and these to functions when
// they are written: in a program that names none; and, for time and allocation, in one that has
// entry hooks only, which then are put in for stack times alone.
bool WouldChargeCallstacks(ProfileKind kind);
inline bool ChargesCallstacks() {
  return recording.charges_callstacks.load(std::memory_order_relaxed);
}

// Whether the program text names its functions, so that nothing need be looked up in symbol tables
// to charge them.
bool HasFunctions();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_RECORDING_H_

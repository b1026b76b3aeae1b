// Functions of managed programs, as places in the table of functions and on shadow stacks.
//
// The calling thread's own calls; no lock; async-signal-safe.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_

#include <cstdint>

#include "tracker/callstack/managed_functions.h"

namespace allomon::internal {

// The open calls that belong on the shadow stack: [base, top).  None while calls are not watched.
struct OpenCalls {
  ManagedEntry* base;
  ManagedEntry* top;
};
OpenCalls OpenManagedCalls();

// `function`, a place in the table, is on top of this thread's shadow stack: calls of it need not
// be watched, where no call counts.
void DoNotWatchCallsOf(uint32_t function);

// The place in the table of a call's function, by ManagedEntry::address.
uint32_t PlaceOfManagedCall(uintptr_t address);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_

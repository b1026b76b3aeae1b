// Functions of managed programs, as places in the table of functions and on shadow stacks.
//
// For the calling thread's own calls; no lock; async-signal-safe.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_

#include <cstdint>

#include "tracker/callstack/managed_functions.h"

namespace allomon::internal {

// The open calls that belong on the shadow stack: [base, top).  Empty while calls are not watched.
struct OpenCalls {
  ManagedEntry* base;
  ManagedEntry* top;
};
OpenCalls OpenManagedCalls();

// Tells the thread's managed stack that `function`, a place in the table, is on top of this
// thread's shadow stack.  Calls of that function need not be watched unless calls are counted.
void DoNotWatchCallsOf(uint32_t function);

// The place in the table of a call's function, by ManagedEntry::address.
uint32_t PlaceOfManagedCall(uintptr_t address);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_MANAGED_PLACES_H_

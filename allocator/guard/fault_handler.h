// SIGSEGV and SIGBUS: faults in the guard's pool are reported, and then, like all others, left
// to whoever would have had them without us.
#ifndef ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_
#define ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

#include <signal.h>

namespace allomon::internal {

// Installs our handlers in front of those of now.  Once.
void InstallFaultHandlers();

// True if the fault is in the pool: then it was reported, unless one was before.
// Async-signal-safe.  Needs about 6 KiB of stack.
bool ReportFaultInPool(const siginfo_t& info, void* context);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

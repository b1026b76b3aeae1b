// The handler of SIGSEGV and SIGBUS.  Faults in the guard's pool are reported.  Then they are
// passed, like all other faults, to the handler or the default action that was installed before.
#ifndef ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_
#define ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

#include <signal.h>

namespace allomon::internal {

// Installs the guard's handlers, which run before the present ones.  Called once.
void InstallFaultHandlers();

// Returns whether the fault is in the pool, and reports the first such fault of the process.
// Async-signal-safe.  Needs about 6 KiB of stack.
bool ReportFaultInPool(const siginfo_t& info, void* context);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

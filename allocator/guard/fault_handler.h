// SIGSEGV and SIGBUS: faults in the guard's pool are reported, and then, like all others, left to
// the handler, or the default action, that was installed before ours.
#ifndef ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_
#define ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

#include <signal.h>

namespace allomon::internal {

// Installs our handlers in front of those of now.  Once.
void InstallFaultHandlers();

// True if the fault is in the pool.  The first such fault of the process is reported.
// Async-signal-safe.  Needs about 6 KiB of stack.
bool ReportFaultInPool(const siginfo_t& info, void* context);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_FAULT_HANDLER_H_

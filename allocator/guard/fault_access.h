// Whether a memory fault was a read or a write, from the context of a signal handler.  A processor
// has a folder with AccessOf(); on others the access is not known.
#ifndef ALLOMON_ALLOCATOR_GUARD_FAULT_ACCESS_H_
#define ALLOMON_ALLOCATOR_GUARD_FAULT_ACCESS_H_

#include <ucontext.h>

#include "allocator/guard/error_report.h"

namespace allomon::internal {

// For handlers of SIGSEGV and SIGBUS with SA_SIGINFO, whose third argument is a ucontext_t.  No
// allocation, no lock, no system call.
inline AccessKind AccessOf(const ucontext_t& context);

}  // namespace allomon::internal

#if defined(__x86_64__)
#include "allocator/guard/x86_64/fault_access.h"
#elif defined(__aarch64__)
#include "allocator/guard/aarch64/fault_access.h"
#else
namespace allomon::internal {
inline AccessKind AccessOf(const ucontext_t&) { return AccessKind::kUnknown; }
}  // namespace allomon::internal
#endif

#endif  // ALLOMON_ALLOCATOR_GUARD_FAULT_ACCESS_H_

// fault_access.h for x86-64.
#ifndef ALLOMON_ALLOCATOR_GUARD_X86_64_FAULT_ACCESS_H_
#define ALLOMON_ALLOCATOR_GUARD_X86_64_FAULT_ACCESS_H_

#include <ucontext.h>

#include "allocator/guard/error_report.h"

namespace allomon::internal {

// Bit 1 of the page fault's error code (Intel SDM, volume 3, 4.7).
inline AccessKind AccessOf(const ucontext_t& context) {
  return (context.uc_mcontext.gregs[REG_ERR] & 2) != 0 ? AccessKind::kWrite : AccessKind::kRead;
}

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_GUARD_X86_64_FAULT_ACCESS_H_

#include "tracker/profile/hooks/entry_counters.h"

#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/prctl.h>

namespace allomon::internal {

namespace {
// Whether the register belongs to the profiler, because SetEntryCounters() has set it.
bool g_is_ours ALLOMON_GUARDED_BY(units_mutex) = false;
}  // namespace

bool CanSetEntryCounters() {
  if (g_is_ours) return true;
  uintptr_t base = 0;
  return syscall(SYS_arch_prctl, ARCH_GET_GS, &base) == 0 && base == 0 &&
         syscall(SYS_arch_prctl, ARCH_SET_GS, base) == 0;
}

void SetEntryCounters(FunctionCell* cells) {
  g_is_ours = true;
  syscall(SYS_arch_prctl, ARCH_SET_GS, cells);
}

}  // namespace allomon::internal

#else

namespace allomon::internal {
bool CanSetEntryCounters() { return false; }
void SetEntryCounters(FunctionCell*) {}
}  // namespace allomon::internal

#endif

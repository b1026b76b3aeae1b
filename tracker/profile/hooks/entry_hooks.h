// Functions that the compiler left room in for a hook: code that is profiled without a change of
// its sources.
//
//   g++ or clang++ -fpatchable-function-entry=9 ...      (Bazel: copts)
//
// leaves nine bytes of no-ops at the start of each function.  While nothing is recorded only these
// are executed.  Start() overwrites them, in the executable and in the libraries that it was
// started with, by
//   - kind count, style current: one instruction that counts, without a register or call;
//   - otherwise: a call, which pushes the function onto the thread's shadow stack.
// There is no hook at the end of a function: tail calls stay tail calls.
//
// The code of a running thread must not be changed, so hooks are installed while the process has
// one thread, as before main.  Libraries loaded by dlopen keep their no-ops.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_HOOKS_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_HOOKS_H_

#include <cstdint>
#include <string>

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/hooks/hook_scan.h"
#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

// The addresses of the no-ops of the program's hooked functions, by hook number.  They are the same
// in every run but for the load addresses.  The first call of FindHookedFunctions() reads the
// symbol tables; before it there are no hooked functions.
struct HookedFunctions {
  const uintptr_t* starts;
  uint32_t count;
};
HookedFunctions FindHookedFunctions();

// Called by a library that is preloaded into a program: without this call FindHookedFunctions()
// does not read the program's file.
void UseHooksOfHost();

enum class HookMode { kNone, kCount, kCall };

// Makes every hook do `mode`.  Returns true if all hooks do, or if there are no hooks.  On failure
// *error is one line with the cause, and the program runs on unchanged.  The caller holds the
// units' lock.
bool SetHooksLocked(HookMode mode, std::string* error) ALLOMON_REQUIRES(units_mutex);

// The mode that all hooks are in.
HookMode CurrentHookMode();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_HOOKS_H_

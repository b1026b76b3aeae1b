// Functions that the compiler left room in for a hook: code that is profiled without a change of
// its sources.
//
//   g++ or clang++ -fpatchable-function-entry=9 ...      (Bazel: copts)
//
// leaves nine bytes of no-ops at the start of each function; on 64-bit Arm nine no-ops, of which
// two are enough.  While nothing is recorded only these are executed.  Start() overwrites them, in
// the executable and in the libraries that it was started with, by
//   - kind count, style current, x86-64: one instruction that counts, without a register or call;
//   - otherwise: a call, which pushes the function onto the thread's shadow stack.
// There is no hook at the end of a function: tail calls stay tail calls.
//
// The code of a running thread must not be changed, so hooks are installed while the process has
// one thread, as before main.  Libraries loaded by dlopen keep their no-ops.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_HOOKS_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_ENTRY_HOOKS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tracker/base/thread_annotations.h"
#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

// ---- Finds the functions with room for a hook, in the executable and in the shared libraries that
// it was started with.  It reads their symbol tables and takes the functions that start with the
// no-ops of hook_code.h.

// The addresses of the no-ops in this process.  They are grouped by module, in the loader's order,
// which is the same in every run; in each module they ascend.  A module that is stripped or
// unreadable is left out.  So is a library that was loaded later, because it may be unloaded, and
// the library with this code, whose symbols would take a third of a short program's start.
struct HooksFound {
  std::vector<uintptr_t> starts;
  std::vector<size_t> module_ends;  // for each module with hooks, the index after its last hook
};
// Reads files; allocates.
HooksFound ScanForHooks();

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

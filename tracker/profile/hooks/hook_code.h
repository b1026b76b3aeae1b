// The instructions of hooks: the no-ops that the compiler leaves, and the code that replaces them.
//
// A hook that calls is a jump or call to its stub.  The stub leads to AllomonEntryCall, which may
// be in a library far from the executable.
//
// A processor's folder defines, in allomon::internal:
//   kHookBytes        the code of a hook
//   kStubBytes        the code of a stub
//   kStubsHeadBytes   the code that a module's stubs share, before them
//   kHookScanBytes    HookOf() reads so much from a function's start
//   kJumpReachBytes   a stub and the module's hooks lie within it
//   kReplacedAtOnce   another thread that runs a hook while it is written runs the old code or the
//                     new one
//   MayHaveHook(start)
//                     whether a function may have a hook, by its first byte: excludes most that
//                     have none
// and, in its .cc files, the functions below.
#ifndef ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_CODE_H_
#define ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_CODE_H_

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include "tracker/profile/hooks/x86_64/hook_code.h"
#elif defined(__aarch64__)
#include "tracker/profile/hooks/aarch64/hook_code.h"
#else
#error "no entry hooks on this processor: tracker/profile/hooks has x86_64/ and aarch64/"
#endif

extern "C" {
// Defined in each processor's entry_call.cc; stubs lead to the first, which calls the second, of
// which only the address is asked for.
void AllomonEntryCall();
extern const char AllomonOnEntryCode[] __asm__("AllomonOnEntry");
}

namespace allomon::internal {

// Code is written by one thread, where the page can be written.  Nothing here allocates or fails.

// The address of the no-ops of the function that starts at `start`; 0 if it has none.  Reads up to
// kHookScanBytes there.
uintptr_t HookOf(uintptr_t start);

// Writes the hook at `at`: an instruction that counts in the function's cell, by its place in the
// table.  Only where CanSetEntryCounters() may be true.
void WriteCountingHook(uintptr_t at, uint32_t place);

// Writes the hook at `at`: a jump to `stub`.
void WriteCallingHook(uintptr_t at, uintptr_t stub);

// Writes the code that a module's stubs share, before its stubs.
void WriteStubsHead(uintptr_t head);

// Writes the stub of the hook at `hook`, which calls AllomonEntryCall with `place`.
void WriteStub(uintptr_t stub, uintptr_t head, uintptr_t hook, uint32_t place);

// Makes what was written to [begin, end) the code that runs.
void PublishCode(uintptr_t begin, uintptr_t end);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_HOOKS_HOOK_CODE_H_

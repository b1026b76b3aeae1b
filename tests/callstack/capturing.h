// Captures the stack with both our unwinder and libgcc's.
#ifndef ALLOMON_TESTS_CALLSTACK_CAPTURING_H_
#define ALLOMON_TESTS_CALLSTACK_CAPTURING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace allomon::testing {

struct Captured {
  std::vector<uintptr_t> frames;
  bool truncated = false;
};

// Returns the stack of the caller, from the instruction to which this returns.  Allocates after
// capturing.
Captured CaptureHere(size_t max_frames = 20000);

// The same by _Unwind_Backtrace.
std::vector<uintptr_t> UnwindHere();

// Both stacks for one place.  The innermost frames differ in the call that was made.
struct Both {
  Captured ours;
  std::vector<uintptr_t> libgcc;
};

// A Body for frames.h: fills the Both that `argument` points to.
void CaptureBoth(void* argument);

// Fails the test unless both stacks are complete, at least `min_frames` long and equal except for
// the innermost frame.
void ExpectSameStacks(const Both& both, size_t min_frames);

// Whether an address lies in the function that starts at `function`, by its FDE.
bool IsIn(uintptr_t pc, void* function);

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_CALLSTACK_CAPTURING_H_

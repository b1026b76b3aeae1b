// Calls of the functions that have entry hooks, between a start and a stop.
#ifndef ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_
#define ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::internal {

// The number of the program's functions that were compiled for profiling.  The first call reads the
// program's symbol table.
uint32_t CountableFunctions();

struct CalledFunction {
  uintptr_t address = 0;
  uint64_t calls = 0;  // at least 1
};

// Not thread safe.  Records a profile of kind count between Begin() and End(), so the program
// cannot have another profile at that time.
class CallCounts {
 public:
  // A program without hooks is counted as a program without calls.  On failure returns false, with
  // one line in *error.
  bool Begin(std::string* error);

  // Returns the called functions in the order of their addresses.
  std::vector<CalledFunction> End();

 private:
  bool recording_ = false;
  std::vector<uint64_t> before_;  // by hook
};

// Drops the functions outside [low, high).  If more than `room` are left, drops the least called of
// them, and then returns true.
bool KeepMostCalled(uintptr_t low, uintptr_t high, uint32_t room,
                    std::vector<CalledFunction>* called);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_

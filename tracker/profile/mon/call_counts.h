// Calls of the functions that have entry hooks, between a start and a stop.
#ifndef ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_
#define ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace allomon::internal {

// How many functions the program has that were compiled for profiling.  The first call reads its
// symbol table.
uint32_t CountableFunctions();

struct CalledFunction {
  uintptr_t address = 0;
  uint64_t calls = 0;  // at least 1
};

// Not thread safe.  Records a profile of kind count between Begin() and End(): the program can have
// no other then.
class CallCounts {
 public:
  // A program without hooks is counted as one that calls nothing.  On failure returns false, with
  // one line in *error.
  bool Begin(std::string* error);

  // In the order of their addresses.
  std::vector<CalledFunction> End();

 private:
  bool recording_ = false;
  std::vector<uint64_t> before_;  // by hook
};

// Drops those outside [low, high) and, beyond `room`, the least called.  Returns whether any of
// these were.
bool KeepMostCalled(uintptr_t low, uintptr_t high, uint32_t room,
                    std::vector<CalledFunction>* called);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_CALL_COUNTS_H_

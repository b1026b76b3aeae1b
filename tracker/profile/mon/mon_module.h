// The loaded file that a piece of code came from.
#ifndef ALLOMON_TRACKER_PROFILE_MON_MON_MODULE_H_
#define ALLOMON_TRACKER_PROFILE_MON_MON_MODULE_H_

#include <cstddef>
#include <cstdint>

namespace allomon::internal {

struct MonModule {
  uintptr_t bias = 0;  // the difference of the addresses in memory and in the file
  // Extends from the start of the first executable segment to the end of the last one.
  uintptr_t code_low = 0;
  uintptr_t code_high = 0;
  const unsigned char* build_id = nullptr;  // in the module's memory; null: none
  size_t build_id_bytes = 0;
};

// Returns false if `address` is in no loaded file with code.  Takes the loader's lock: not in
// signal handlers.
bool FindMonModule(uintptr_t address, MonModule* module);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_MON_MODULE_H_

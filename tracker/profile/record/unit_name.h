// Names of units of profiling data.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_UNIT_NAME_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_UNIT_NAME_H_

#include <cstdint>

namespace allomon::internal {

struct ThreadCounts;

// Names a unit for ever: slots are reused, names are not.
struct UnitName {
  uint32_t slot = 0;
  uint32_t use = 0;
  bool operator==(UnitName other) const { return slot == other.slot && use == other.use; }
};

// The unit and counts of a thread before it switched to another unit.
struct SavedUnit {
  UnitName name;
  ThreadCounts* counts = nullptr;
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_UNIT_NAME_H_

// A unit of profiling data, as MLton.Profile.Data.  A program may keep several units, switch
// between them while it runs, and write each to a file of its own.
//
// This class is a name, cheap to copy.  Profile::Malloc() makes a unit, and Profile::Free() ends
// it.  Names are never reused, so a call with the name of a freed unit is an error.
#ifndef ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_
#define ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_

#include <cstdint>

namespace allomon {

class ProfileData {
 public:
  // The default unit, which always exists: every thread starts in it.
  ProfileData() = default;

  friend bool operator==(ProfileData a, ProfileData b) {
    return a.slot_ == b.slot_ && a.use_ == b.use_;
  }
  friend bool operator!=(ProfileData a, ProfileData b) { return !(a == b); }

  // The slot of the unit, and the number of units that had the slot before.
  uint32_t slot() const { return slot_; }
  uint32_t use() const { return use_; }

 private:
  friend class Profile;
  ProfileData(uint32_t slot, uint32_t use) : slot_(slot), use_(use) {}

  uint32_t slot_ = 0;
  uint32_t use_ = 0;
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_PROFILE_DATA_H_

// The contents of a unit of profiling data, for tests.
#ifndef ALLOMON_TESTS_SUPPORT_PROFILE_BYTES_H_
#define ALLOMON_TESTS_SUPPORT_PROFILE_BYTES_H_

#include <string>

#include "tracker/profile/control/snapshot.h"
#include "tracker/profile/profile_data.h"
#include "tracker/profile/write/attribution.h"

namespace allomon::testing {

// Returns zeros for a freed unit.
inline NamedProfile Attributed(ProfileData data = {}) {
  ProfileSnapshot snapshot;
  const internal::UnitError error = internal::TakeSnapshot({data.slot(), data.use()}, &snapshot);
  return error == internal::UnitError::kNone ? Attribute(snapshot) : NamedProfile{};
}

inline int64_t TotalOf(ProfileData data = {}) {
  return static_cast<int64_t>(Attributed(data).mlmon.total);
}

// Returns zeros, with current -1, for a function that is not in the table.
inline MlmonCount CountOf(const NamedProfile& profile, const std::string& name) {
  for (size_t i = 0; i < profile.sources.names.size(); ++i) {
    if (profile.sources.names[i].name == name) return profile.mlmon.masters[i];
  }
  return {-1, 0, 0};
}

inline int64_t CurrentOf(const std::string& name, ProfileData data = {}) {
  return static_cast<int64_t>(CountOf(Attributed(data), name).current);
}
inline int64_t StackOf(const std::string& name, ProfileData data = {}) {
  return static_cast<int64_t>(CountOf(Attributed(data), name).stack);
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_PROFILE_BYTES_H_

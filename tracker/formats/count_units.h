// The internal units of profiles, before they are written.
#ifndef ALLOMON_TRACKER_FORMATS_COUNT_UNITS_H_
#define ALLOMON_TRACKER_FORMATS_COUNT_UNITS_H_

#include <cstdint>

#include "tracker/formats/mlmon.h"

namespace allomon {

// Amounts are kept in 1/1024 byte, since bytes are estimates with fractions; in nanoseconds; in
// calls.  Returns how many of these make one unit of mlmon.out.
constexpr uint64_t UnitsPerCount(ProfileKind kind) {
  return kind == ProfileKind::kAlloc ? 1024 : kind == ProfileKind::kTime ? 10'000'000 : 1;
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_COUNT_UNITS_H_

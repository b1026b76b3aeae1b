// The shortages of a profile by kind, as one sentence, and the amounts that they make too small.
//
// Functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_MISSING_H_
#define ALLOMON_TOOLS_HEAP_MISSING_H_

#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// The names by which files have the numbers.
struct MissingKind {
  const char* key;
  double Missing::*count;
};
inline constexpr MissingKind kMissingKinds[] = {
    {"dropped_samples", &Missing::samples}, {"dropped_bytes", &Missing::bytes},
    {"missing_ends", &Missing::ends},       {"missing_threads", &Missing::threads},
    {"missing_saved", &Missing::saved},     {"missing_names", &Missing::names},
    {"missing_frames", &Missing::frames},
};

// False where something that the metric counts found no room: its amounts are then not exact at any
// rate, and no interval can be said to hold the truth.
bool IsWhole(const Missing& missing, Metric metric);

// "not in the recording, for want of room: 12 samples of blocks of 3072 bytes, and what 4 rows had
// at the peak; a larger --limit may help".  Empty if nothing is missing.
std::string MissingText(const Missing& missing);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_MISSING_H_

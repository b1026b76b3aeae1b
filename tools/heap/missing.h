// Describes the losses of a profile by kind, in one sentence, and tells which amounts they make too
// small.
//
// All are functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_MISSING_H_
#define ALLOMON_TOOLS_HEAP_MISSING_H_

#include <string>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// A kind of loss, with the name that it has in files.
struct MissingKind {
  const char* key;
  double Missing::*count;
};
inline constexpr MissingKind kMissingKinds[] = {
    {"dropped_samples", &Missing::samples}, {"dropped_bytes", &Missing::bytes},
    {"missing_ends", &Missing::ends},       {"missing_threads", &Missing::threads},
    {"missing_saved", &Missing::saved},     {"missing_names", &Missing::names},
    {"missing_frames", &Missing::frames},   {"missing_scopes", &Missing::scopes},
    {"unseen_frees", &Missing::unseen},
};

// False if something that the metric counts was lost.  Its amounts are then not exact at any rate,
// and have no valid interval.
bool IsWhole(const Missing& missing, Metric metric);

// Returns "not in the recording, for want of room: 12 samples of blocks of 3072 bytes, and what 4
// rows had at the peak; a larger --limit may help", and the frees that were seen too
// late.  Empty if nothing was.
std::string MissingText(const Missing& missing);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_MISSING_H_

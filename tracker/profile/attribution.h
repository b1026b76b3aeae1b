// From what was counted to what is written: source functions with names and positions,
// and bytes for each.
//
// A program that names functions with ALLOMON_FUNCTION() is attributed to those, and
// what it allocates outside of them to <main>: its table depends on the program alone,
// so an executable can answer for it.  Any other program is attributed by its symbol
// tables: to the innermost function on the call stack that has a name, as MLton charges
// code that was excluded from profiling to its caller.
//
// For use at exit: allocates, reads files.
#ifndef ALLOMON_TRACKER_PROFILE_ATTRIBUTION_H_
#define ALLOMON_TRACKER_PROFILE_ATTRIBUTION_H_

#include <memory>
#include <vector>

#include "tracker/estimate.h"
#include "tracker/profile/mlmon.h"
#include "tracker/profile/profile_data.h"
#include "tracker/profile/source_table.h"

namespace allomon {

// The table of the functions that ALLOMON_FUNCTION() registered.
SourceTable RegisteredSourceTable();

struct AttributedProfile {
  SourceTable sources;
  Mlmon mlmon;
  Estimate total;
  // True if the executable itself answers `@MLton show-sources` with this table.
  bool self_described = false;
};

AttributedProfile Attribute(const ProfileData& data);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_ATTRIBUTION_H_

// A profile by named functions: what output formats are made from.  Plain data.
#ifndef ALLOMON_TRACKER_FORMATS_NAMED_PROFILE_H_
#define ALLOMON_TRACKER_FORMATS_NAMED_PROFILE_H_

#include <cstdint>
#include <string>

#include "tracker/formats/call_sites.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon {

struct NamedProfile {
  SourceTable sources;
  Mlmon mlmon;
  CallSites call_sites;         // none where functions were charged as they ran
  double variance = 0;          // of kind alloc: of the total, in bytes squared
  bool live = false;            // of kind alloc: what is live, not all that was allocated
  uint64_t dropped_bytes = 0;   // of live: samples that are not in the total, for want of memory
  bool self_described = false;  // the executable itself answers `@MLton show-sources`
  bool lacks_memory = false;    // none was left to name the functions of the program's text
  std::string missing_names;    // why functions have no names, in a line; or empty
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_NAMED_PROFILE_H_

// A profile by named functions, the input of output formats.  Plain data.
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
  CallSites call_sites;         // empty if functions were charged as they ran
  double variance = 0;          // for kind alloc: of the total, in bytes squared
  bool live = false;            // for kind alloc: only live blocks, not all allocated ones
  uint64_t dropped_bytes = 0;   // for live: samples missing in the total, because memory was short
  bool self_described = false;  // the executable itself answers `@MLton show-sources`
  bool lacks_memory = false;    // memory was short when functions were named
  std::string missing_names;    // the reason why functions have no names, in a line; or empty
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_NAMED_PROFILE_H_

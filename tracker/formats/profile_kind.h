// The kinds of profile, and the fixed functions at the beginning of every table of functions.
//
// Includes no standard header that needs floating point. A hook at the entry of a function includes
// this file and is compiled for general registers only, which clang enforces strictly.
#ifndef ALLOMON_TRACKER_FORMATS_PROFILE_KIND_H_
#define ALLOMON_TRACKER_FORMATS_PROFILE_KIND_H_

#include <cstdint>

namespace allomon {

enum class ProfileKind { kAlloc, kTime, kCount };
enum class ProfileStyle { kCurrent, kStack };

// Entries that MLton puts first into every table, at the same index in names and in sources. mlprof
// does not need them, but readers of profiles look for <gc> at 1.
enum FixedSource : uint32_t {
  kUnknownSource = 0,  // used while no function was known to run
  kGcSource = 1,       // the collector
  kMainSource = 2,     // top level code
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_PROFILE_KIND_H_

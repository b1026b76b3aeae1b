// The version of Allomon: of the library, all commands, and the newest section of CHANGELOG.md.
#ifndef ALLOMON_TRACKER_FORMATS_VERSION_H_
#define ALLOMON_TRACKER_FORMATS_VERSION_H_

namespace allomon {

// Ends with "-dev" and names the next version as long as CHANGELOG.md begins with unreleased
// changes.  It stays in every program that includes this file, for `strings liballomon.so` to find.
[[gnu::used, gnu::retain]] inline constexpr char kVersionText[] = "allomon 0.2.0";

inline constexpr const char* kVersion = kVersionText + sizeof "allomon " - 1;

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_VERSION_H_

// The version of Allomon: of all commands, and of the newest section of CHANGELOG.md.
#ifndef ALLOMON_TRACKER_FORMATS_VERSION_H_
#define ALLOMON_TRACKER_FORMATS_VERSION_H_

namespace allomon {

// "-dev" behind the next version for as long as CHANGELOG.md begins with what is unreleased.
inline constexpr char kVersion[] = "0.1.0-dev";

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_VERSION_H_

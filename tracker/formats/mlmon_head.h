#ifndef ALLOMON_TRACKER_FORMATS_MLMON_HEAD_H_
#define ALLOMON_TRACKER_FORMATS_MLMON_HEAD_H_

#include <sys/stat.h>

#include <optional>
#include <string>

#include "tracker/formats/mlmon.h"

namespace allomon {

// The first lines of an mlmon.out, and the file that they were read from.
struct MlmonHead {
  ProfileKind kind = ProfileKind::kAlloc;
  MlmonInt total = 0;  // with the collector's
  struct stat file = {};
};

// Reads at most 256 bytes.  Returns nothing if the path is not a regular file of the user's own, or
// not an mlmon.out.  Follows no symbolic link.  Thread safe; three system calls.
std::optional<MlmonHead> ReadMlmonHead(const std::string& path);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_MLMON_HEAD_H_

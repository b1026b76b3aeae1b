// Names of files with code.
//
// No allocation, async-signal-safe; errno is left alone.
#ifndef ALLOMON_TRACKER_CALLSTACK_FILE_NAMES_H_
#define ALLOMON_TRACKER_CALLSTACK_FILE_NAMES_H_

#include <cstddef>
#include <cstring>
#include <string_view>

#include "tracker/base/sys/raw_calls.h"

namespace allomon::internal {

// Whether a name in the loader's list is a file's.  The vDSO's has no folder.
inline bool IsFileName(std::string_view name) { return name.find('/') != std::string_view::npos; }

// The suffix that the kernel adds to the path of a file that has no name any more.
inline constexpr std::string_view kDeleted = " (deleted)";

inline bool EndsWithDeleted(std::string_view path) {
  return path.size() > kDeleted.size() && path.substr(path.size() - kDeleted.size()) == kDeleted;
}

// Returns the length of a path from the kernel without that suffix.  A file's real name may end so;
// but the one that the kernel means has no name any more.  `path` ends with a zero.
inline size_t LengthOfName(const char* path) {
  const size_t length = strlen(path);
  struct stat status;
  const bool is_gone = EndsWithDeleted({path, length}) && sys::Lstat(path, &status) != 0;
  return length - (is_gone ? kDeleted.size() : 0);
}

// Appends a name to the folder in `path`, which is not empty.  Leaves an empty path if there is no
// room for both and a final zero.
inline void AppendToFolder(std::string_view name, char* path, size_t room_bytes) {
  size_t at = strlen(path);
  const bool has_slash = path[at - 1] == '/';
  if (at + (has_slash ? 0 : 1) + name.size() >= room_bytes) {
    path[0] = '\0';
    return;
  }
  if (!has_slash) path[at++] = '/';
  memcpy(path + at, name.data(), name.size());
  path[at + name.size()] = '\0';
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CALLSTACK_FILE_NAMES_H_

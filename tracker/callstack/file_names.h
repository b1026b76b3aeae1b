// Names of files with code.
//
// No allocation, async-signal-safe.
#ifndef ALLOMON_TRACKER_CALLSTACK_FILE_NAMES_H_
#define ALLOMON_TRACKER_CALLSTACK_FILE_NAMES_H_

#include <cstddef>
#include <cstring>
#include <string_view>

namespace allomon::internal {

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

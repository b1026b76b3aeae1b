// The path of a recording's file, without memory from malloc.  Plain values, no locks.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_PATH_H_
#define ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

#include <climits>
#include <cstdint>

namespace allomon::recording {

struct FilePath {
  char text[PATH_MAX];  // ends with a zero
};

// `pattern` with each %p replaced by the process id and %% by a percent sign.  A child of fork gets
// a name of its own also where there is no %p: the process id is then added behind a dot.  False if
// it is empty or longer than a path may be.
bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, FilePath* path);

// The path of the same file from the root directory, since a program may change its directory.
// False if that is too long.
bool MakeAbsolute(const char* path, FilePath* absolute);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

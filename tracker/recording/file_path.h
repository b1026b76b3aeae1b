// The path of a recording's file, without memory from malloc.  Plain values, no locks.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_PATH_H_
#define ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

#include <climits>
#include <cstdint>

namespace allomon::recording {

struct FilePath {
  char text[PATH_MAX];  // ends with a zero
};

// Identifies a file by its inode rather than its name.  Inode 0 matches any file.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
};

// Expands %p in `pattern` to the process id and %% to a percent sign.  A child of fork always gets
// a name of its own: if `pattern` has no %p, the process id is added after a dot, and so is
// `attempt` if it is 2 or more.  Returns false if the path is empty or too long.
bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, uint32_t attempt,
                FilePath* path);
inline bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, FilePath* path) {
  return ExpandPath(pattern, process_id, is_child, 0, path);
}

// Whether the path is that of a process's descriptor, /proc/PID/fd/N.
bool IsOfDescriptor(const FilePath& path);

// Makes a unique name in the directory of PATH from the thread's id and the clock; the id alone is
// not unique across pid namespaces.  Returns false if it is too long.
bool FreshPath(const FilePath& path, uint32_t thread_id, uint64_t nanos, FilePath* fresh);

// Makes the path absolute, since a program may change its directory.  The path stays as it is if
// the current directory has no path from the root.  Returns false if it is too long.
bool MakeAbsolute(const char* path, FilePath* absolute);
// The same for a pattern of ExpandPath(): a percent sign in the directory's name is doubled.
bool MakePatternAbsolute(const char* pattern, FilePath* absolute);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

// The path of a recording's file, without memory from malloc.  Plain values, no locks.
#ifndef ALLOMON_TRACKER_RECORDING_FILE_PATH_H_
#define ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

#include <climits>
#include <cstdint>

namespace allomon::recording {

struct FilePath {
  char text[PATH_MAX];  // ends with a zero
};

// Which file it is, whatever its name; inode 0: any.
struct FileId {
  uint64_t device = 0;
  uint64_t inode = 0;
};

// `pattern` with each %p replaced by the process id and %% by a percent sign.  A child of fork gets
// a name of its own also where there is no %p: the process id is then added after a dot, and so is
// `attempt` if it is 2 or more.  False if it is empty or longer than a path may be.
bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, uint32_t attempt,
                FilePath* path);
inline bool ExpandPath(const char* pattern, uint32_t process_id, bool is_child, FilePath* path) {
  return ExpandPath(pattern, process_id, is_child, 0, path);
}

// Whether it is that of a process's descriptor, /proc/PID/fd/N.
bool IsOfDescriptor(const FilePath& path);

// PATH with a name in the same directory that nobody else has: by the thread's id and the clock,
// since in another pid namespace another thread may have that id.  False if it is too long.
bool FreshPath(const FilePath& path, uint32_t thread_id, uint64_t nanos, FilePath* fresh);

// The path of the same file from the root directory, since a program may change its directory.  As
// it is where the directory has no such path.  False if it is too long.
bool MakeAbsolute(const char* path, FilePath* absolute);
// The same of a pattern of ExpandPath(): a percent sign in the directory's name stands for itself.
bool MakePatternAbsolute(const char* pattern, FilePath* absolute);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FILE_PATH_H_

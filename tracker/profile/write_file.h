#ifndef TRACKER_PROFILE_WRITE_FILE_H_
#define TRACKER_PROFILE_WRITE_FILE_H_

#include <string>
#include <string_view>
#include <vector>

namespace allomon {

// Makes `contents` the contents of the file `path`, all of them or none: they
// go to a new file beside it, which then takes its place.  A reader sees the
// old file or the new one; a full disk leaves the old one as it was.  Not
// synced: after a power failure the file may be empty.
//
// `mode` (0644, 0755) is subject to the umask and replaces the old file's.  A
// symbolic link to a file stays a link.  A small file of the user's own that holds
// the contents already stays, with a new time and a mode that may be stricter.
// What cannot be replaced (/dev/stdout, a pipe, a terminal) is written to directly.
//
// On failure returns false and sets `error` to one line that names the path,
// the cause and a remedy; the new file is gone.  Thread safe, also for the same
// path: the last one wins.  Throws nothing; a few system calls; allocates with
// operator new.
bool WriteFileAtomically(const std::string& path, std::string_view contents, int mode,
                         std::string* error);

struct FileToWrite {
  std::string path;
  std::string_view contents;  // not owned
  int mode;
};

// The same for files that belong together: nothing is replaced before all the
// new contents are on the disk.  Between two renames a reader may see one new
// and one old file; a full disk never leaves them so.
bool WriteFilesAtomically(const std::vector<FileToWrite>& files, std::string* error);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_WRITE_FILE_H_

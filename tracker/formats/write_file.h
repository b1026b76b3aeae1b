#ifndef ALLOMON_TRACKER_FORMATS_WRITE_FILE_H_
#define ALLOMON_TRACKER_FORMATS_WRITE_FILE_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon {

// For files with call stacks, command lines or labels of a program, which are its user's private
// data.
constexpr int kPrivateMode = 0600;

// Makes `contents` the contents of the file `path`, completely or not at all: they go to a new file
// in the same directory, which then replaces the old one.  A reader sees the old file or the new
// one; a full disk leaves the old one unchanged.  Not synced: after a power failure the file may be
// empty.
//
// `mode` (0600, 0644) is subject to the umask and replaces the old file's.  No symbolic link is
// followed: the file replaces the link, and the temporary file is created afresh (O_EXCL).  A small
// file of the user's own that has the contents already stays, with a new time and a mode that may
// be stricter.  A file that cannot be replaced (a device, a pipe, a target of links under /dev and
// /proc such as /dev/stdout) is appended to: a pipe without a reader is an error, a reader is
// waited for.
//
// On failure returns false and sets `error` to one line that names the path, the cause and a
// remedy; the new file is gone.  Thread safe, also for the same path: the last one wins.  Throws
// nothing; a few system calls; allocates with operator new.
bool WriteFileAtomically(const std::string& path, std::string_view contents, int mode,
                         std::string* error);

// Whether writing to `path` makes a new file that replaces any existing one; else it is appended
// to.
bool IsReplacedByWriting(const std::string& path);

struct FileToWrite {
  std::string path;
  std::string_view contents;  // not owned
  int mode;
};

// WriteFileAtomically() for files that belong together: no file is replaced before all the new
// contents are on the disk.  Between two renames a reader may see one new and one old file; a full
// disk never leaves such a mixture.
bool WriteFilesAtomically(const std::vector<FileToWrite>& files, std::string* error);

// WriteFileAtomically() for contents that come piece by piece: the pieces so far are in a file in
// the same directory as `path`, which replaces it at the end.  If `path` cannot be replaced it is
// appended to at once.
//
// One thread at a time.
class FileInPieces {
 public:
  FileInPieces(std::string path, int mode) : path_(std::move(path)), mode_(mode) {}
  // Removes the new file if Commit() was not called.
  ~FileInPieces();
  FileInPieces(const FileInPieces&) = delete;
  FileInPieces& operator=(const FileInPieces&) = delete;

  // Makes the new file.  False and an error line as above if that fails.
  bool Open(std::string* error);
  // After a failure later pieces are not written, and Commit() reports the failure.  Allocates
  // nothing, async-signal-safe.
  void Write(std::string_view piece);
  bool failed() const { return failure_ != 0; }
  // Renames the new file to `path`.  Returns false with an error line as above if that fails, or
  // anything did before.
  bool Commit(std::string* error);

 private:
  const std::string path_;
  const int mode_;
  std::string temporary_;  // empty: written directly
  int fd_ = -1;
  int failure_ = 0;  // errno
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_WRITE_FILE_H_

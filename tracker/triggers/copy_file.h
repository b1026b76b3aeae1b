// The file of one copy, and its place among older copies.
//
// A copy is written to a separate file, STEM.saving.rec, and gets its name when it is complete:
// STEM.limit.1.rec is the newest of its kind, STEM.limit.2.rec the one before.  So a copy that
// fails removes nothing, and a process that is killed leaves complete copies.
//
// Another process may have the same stem: its recording is in another directory, or it has the same
// id in another pid namespace.  So a process holds a lock (flock(2)) on the file that it writes and
// on the newest copy of each kind.  If another process holds one of these, it uses STEM.2, and so
// on.  Locks end with the process; its files are then free for any process.
//
// One thread at a time.  Makes system calls, none of which is a cancellation point; allocates
// nothing, maps nothing.  Functions return 0 or an errno.
#ifndef ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_
#define ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_

#include <sys/types.h>

#include <climits>
#include <cstdint>
#include <string_view>

#include "tracker/base/fixed_text.h"

namespace allomon::triggers {

class CopyFile {
 public:
  constexpr CopyFile() = default;
  CopyFile(const CopyFile&) = delete;
  CopyFile& operator=(const CopyFile&) = delete;

  // Sets the place of another recording's copies.  The directory is opened at its first use and
  // stays open, since the host may change its root directory.
  void SetPlace(std::string_view directory, std::string_view stem);

  // The treatment of the memory pages that a copy passes through.  They count in the cgroup of this
  // process, and pages not yet on disk cannot be dropped at its limit.
  enum class Pages {
    kLeft,     // to the kernel, which writes them within half a minute
    kGivenUp,  // waits for the disk after each MiB, and then drops the pages
  };

  // Makes the file; `end_bytes` is its final length, or more.
  int Begin(uint64_t end_bytes, Pages pages = Pages::kLeft);
  int Write(uint64_t offset, const char* bytes, uint64_t size);
  // Gives the file its name; `keep` copies of the kind stay.  The text of `kind` is static.
  int Finish(std::string_view kind, uint32_t keep);
  // Removes it.
  void Abandon();

  // Returns the path of the newest copy of a kind, for messages.
  const char* PathOf(std::string_view kind);

 private:
  static constexpr size_t kMostKinds = 4;

  // A file that this process has open, unless the host has closed it or reused its number.
  struct Held {
    std::string_view kind;
    int fd = -1;
    dev_t device = 0;
    ino_t inode = 0;
  };
  static bool IsOf(const Held& held, int fd);
  static void Release(Held* held);

  bool HasDirectory() const;
  int OpenDirectory();
  int Create();
  int CreateSaving();
  bool Hold(int fd, const char* name, Held* held) const;
  bool IsHeld(const char* name, const Held& own) const;
  bool RemoveUnheld(const char* name) const;
  Held* HeldOf(std::string_view kind);
  void GivePagesUp();
  int GiveName(std::string_view kind, uint32_t keep);
  bool SetName(internal::FixedText<NAME_MAX + 1>* name, std::string_view kind, uint32_t number);
  int Rename(const char* from, const char* to, unsigned flags);

  internal::FixedText<PATH_MAX> directory_;
  internal::FixedText<NAME_MAX + 1> stem_;
  uint32_t attempt_ = 1;                      // of the stem
  internal::FixedText<NAME_MAX + 1> saving_;  // of written_
  internal::FixedText<NAME_MAX + 1> from_;
  internal::FixedText<NAME_MAX + 1> to_;
  internal::FixedText<PATH_MAX + NAME_MAX + 1> path_;
  int directory_fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  Held written_;
  Pages pages_ = Pages::kLeft;
  uint64_t unsynced_bytes_ = 0;  // of written_, if pages are given up
  Held held_[kMostKinds] = {};   // the newest copies
};

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_

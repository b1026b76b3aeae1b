// The file of one copy, and the older ones that it takes its place among.
//
// A copy is written beside, as STEM.saving.rec, and gets its name when it is whole:
// STEM.limit.1.rec is the newest of its kind, STEM.limit.2.rec the one before.  So a copy that
// fails takes nothing away, and a process that is killed leaves whole copies.
//
// Another process may have the same stem: its recording is in another directory, or it has the same
// number in another pid namespace.  So a process holds a lock (flock(2)) of what it writes and of
// the newest copy of each kind, and takes STEM.2 where another process holds one, and so on.  Locks
// end with the process; what is left then is of nobody.
//
// One thread at a time.  Makes system calls, none of which is a cancellation point; allocates
// nothing, maps nothing.  Answers are 0 or a number of errno.
#ifndef ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_
#define ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_

#include <sys/types.h>

#include <climits>
#include <cstdint>
#include <string_view>

#include "tracker/triggers/fixed_text.h"

namespace allomon::triggers {

class CopyFile {
 public:
  constexpr CopyFile() = default;
  CopyFile(const CopyFile&) = delete;
  CopyFile& operator=(const CopyFile&) = delete;

  // Where copies of another recording go, from now on.  The directory is opened when it is first
  // needed, and stays open: the host may change its root directory.
  void SetPlace(std::string_view directory, std::string_view stem);

  // What becomes of the pages of memory that a copy goes through.  They are counted to the cgroup
  // of this process, and those that the disk does not have yet cannot be given up at its limit.
  enum class Pages {
    kLeft,     // to the kernel, which writes them within half a minute
    kGivenUp,  // waits for the disk after each MiB, and leaves none
  };

  // Makes the file; `end_bytes` is how long it will be, or longer.
  int Begin(uint64_t end_bytes, Pages pages = Pages::kLeft);
  int Write(uint64_t offset, const char* bytes, uint64_t size);
  // Gives it its name; `keep` of those stay.  The text of `kind` is static.
  int Finish(std::string_view kind, uint32_t keep);
  // Removes it.
  void Abandon();

  // The path of the newest copy of a kind, for messages.
  const char* PathOf(std::string_view kind);

 private:
  static constexpr size_t kMostKinds = 4;

  // A file that this process has open, unless the host has closed it or taken its number.
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
  bool SetName(FixedText<NAME_MAX + 1>* name, std::string_view kind, uint32_t number);
  int Rename(const char* from, const char* to, unsigned flags);

  FixedText<PATH_MAX> directory_;
  FixedText<NAME_MAX + 1> stem_;
  uint32_t attempt_ = 1;            // of the stem
  FixedText<NAME_MAX + 1> saving_;  // of written_
  FixedText<NAME_MAX + 1> from_;
  FixedText<NAME_MAX + 1> to_;
  FixedText<PATH_MAX + NAME_MAX + 1> path_;
  int directory_fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  Held written_;
  Pages pages_ = Pages::kLeft;
  uint64_t unsynced_bytes_ = 0;  // of written_, where pages are given up
  Held held_[kMostKinds] = {};   // the newest copies
};

}  // namespace allomon::triggers

#endif  // ALLOMON_TRACKER_TRIGGERS_COPY_FILE_H_

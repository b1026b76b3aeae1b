// The mapped file of a recording: segments of recording_layout.h, taken one after the other.
//
// There are two kinds.  A memory file was made by somebody else, who sealed it against shrinking
// and growing; all processes of a tree share it.  A named file is made here, belongs to this
// process, and grows: its pages are allocated before anybody touches them.
//
// Where segments lie, how many are taken and how far the disk reaches is in own memory.  The one
// number that is read from a file is the count of a memory file, from which all its processes take
// segments: it is held against the limit, and whoever falsifies it spoils reports.
//
// Open(), Commit(), Close(), Grow() and Check() make system calls, allocate nothing, set no errno,
// are no cancellation points, and are called where the caller is not sampled.  Take() is called
// under the recorder's lock and makes none.
#ifndef ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_
#define ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "tracker/formats/recording_layout.h"
#include "tracker/recording/file_path.h"
#include "tracker/recording/written.h"

namespace allomon::recording {

// Open()'s answer where a path in /proc, of a memory file that somebody held, leads nowhere, or to
// another file: a process that was given the number since.
extern const char* const kNoMemoryFile;
// A memory file has no room for another process.  Its owner says so, once.
extern const char* const kMemoryFileFull;

class SegmentFile {
 public:
  SegmentFile() = default;
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // nullptr, or what is wrong and what to do, for "cannot record to PATH: ".  A memory file has its
  // own limit, and is opened only if it is that of the id.  A named file has a name of its own
  // until Commit().
  const char* Open(const FilePath& path, uint64_t limit_bytes, const FileId& memory_file = {});
  // A named file replaces what has its name, which another process may go on writing.  The same
  // answers.
  const char* Commit();
  // Leaves a file that was committed as it is, and removes one that was not.
  void Close();
  // For a child of fork.  The file is the parent's, which may not have given it its name yet.
  void CloseInChild() {
    fresh_path_.text[0] = '\0';
    Close();
  }

  bool is_open() const { return base_ != nullptr; }
  bool is_named() const { return is_named_; }
  const FilePath& path() const { return path_; }
  uint32_t segment_count() const { return static_cast<uint32_t>(limit_bytes_ / kSegmentBytes); }

  // Of the file, as far as it reaches; all processes' segments are counted.
  uint32_t segments_used() const;

  // The number of a fresh segment, all zero; 0 if there is none.  Then NeedsGrowth() tells, under
  // the same hold of the lock, whether Grow() may help; else the limit is reached or there is no
  // disk, which the file's header counts.
  uint32_t Take();
  char* At(uint32_t segment) const { return base_ + uint64_t{segment} * kSegmentBytes; }

  bool NeedsGrowth() const { return needs_growth_; }

  // Not under the lock.  One thread asks the disk; others that need it wait for that one, and those
  // that do not go on.
  bool IsGrowthNear() const { return growth_is_near_.load(std::memory_order_relaxed); }
  void Grow();
  void GrowAhead();

  // Whether stores may be made.  False when somebody has truncated the file or it is out of reach:
  // its pages are then anonymous memory that nobody will read, so that touching them harms nobody.
  // Under the lock.  A system call or two for a named file, else nothing.
  bool Check();
  // What is known without a look.  Any thread, one load.
  bool IsHarmed() const { return harm_->load(std::memory_order_relaxed); }
  // Whether a truncation between two looks is answered (bus_errors.h).
  bool IsProtected() const { return !is_named_ || is_protected_.load(std::memory_order_relaxed); }

 private:
  const char* OpenDescriptor(const FileId& memory_file);
  const char* Join(int fd);
  const char* Create(uint64_t limit_bytes);
  const char* MapNew(int fd, uint64_t limit_bytes);
  const char* Map(int fd);
  Written<FileHeader> header() const { return Written<FileHeader>(base_); }
  uint32_t TakeShared();
  uint32_t TakeNamed();
  uint32_t Refuse();
  bool Allocate(uint64_t end_bytes);
  void GrowOnce();
  bool IsOurs(int fd, struct stat* status) const;
  bool FindDescriptor(struct stat* status);
  void Forget();

  char* base_ = nullptr;
  uint64_t limit_bytes_ = 0;  // mapped; whole segments
  bool is_named_ = false;
  // Of a named file.
  FilePath path_ = {};
  FilePath fresh_path_ = {};  // until Commit(); then empty
  bool is_lost_ = false;
  const std::atomic<bool>* harm_ = &kNoHarm;
  std::atomic<bool> is_protected_{true};
  int fd_ = -1;  // of the thread that grows or, under the lock, checks
  dev_t device_ = 0;
  ino_t inode_ = 0;
  uint32_t next_ = 0;          // segment that is taken next
  bool needs_growth_ = false;  // the last Take() was refused for want of pages
  std::atomic<uint64_t> allocated_bytes_{0};
  std::atomic<bool> growth_is_near_{false};
  std::atomic<bool> is_growing_{false};
  std::atomic<bool> is_full_{false};  // the disk has refused
  uint32_t refusals_ = 0;             // since the disk was asked last

  static const std::atomic<bool> kNoHarm;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

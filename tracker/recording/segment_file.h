// The mapped file of a recording: segments of recording_layout.h, taken one after the other.
//
// There are two kinds.  A memory file was made by another program, which has sealed its size; all
// processes of a tree share it.  A named file is made here, belongs to this process, and grows.
// Its pages are allocated before they are touched.
//
// The places of segments, the number taken and the allocated size are kept in own memory.  The only
// number read from a file is the count of a memory file, from which all its processes take
// segments.  It is checked against the limit, so that a false count can only spoil reports.
//
// Open(), Commit(), Close(), Grow() and Check() make system calls.  They allocate nothing, set no
// errno and are no cancellation points.  Their callers are not sampled.  Take() is called under the
// recorder's lock and makes no system call.
#ifndef ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_
#define ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/recording/file_path.h"
#include "tracker/recording/written.h"

namespace allomon::recording {

// Open()'s error if a path in /proc to a memory file no longer leads to that file: its holder has
// ended, or another process has got its id.
extern const char* const kNoMemoryFile;
// Commit()'s error: the file still has its temporary name, and mutable_path() may have another.
extern const char* const kNameTaken;
// Open()'s error if a memory file has no room for another process.  The file's owner reports it,
// once.
extern const char* const kMemoryFileFull;

class SegmentFile {
 public:
  SegmentFile() = default;
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // Returns nullptr, or an error and its remedy, for "cannot record to PATH: ".  A memory file has
  // its own limit, and is opened only if its id is `memory_file`.  A named file has a temporary
  // name until Commit().
  const char* Open(const FilePath& path, uint64_t limit_bytes, const FileId& memory_file = {});
  // Gives a named file its final name.  It replaces a file of that name, unless another process
  // than this one, with the id given, still writes to it.  Returns as Open() does.
  const char* Commit(uint32_t process_id);
  // The name that Commit() is to give.
  FilePath* mutable_path() { return &path_; }
  // Keeps a file that was committed, and removes any other.
  void Close();
  // Called in a child of fork.  The file is the parent's, which may not have committed it yet.
  void CloseInChild() {
    fresh_path_.text[0] = '\0';
    Close();
  }

  bool is_open() const { return base_ != nullptr; }
  bool is_named() const { return is_named_; }
  const FilePath& path() const { return path_; }
  uint32_t segment_count() const { return static_cast<uint32_t>(limit_bytes_ / kSegmentBytes); }

  // Number of segments in use in the file, those of all its processes included.
  uint32_t segments_used() const;

  // Returns the number of a fresh segment, all zero; 0 if there is none.  If there is none,
  // NeedsGrowth() under the same hold of the lock tells whether Grow() may help.  If not, the limit
  // is reached or the disk is full, and the file's header counts the loss.
  uint32_t Take();
  char* At(uint32_t segment) const {
    ALLOMON_DCHECK_LT("inv.recording.segment", segment, segment_count());
    return base_ + uint64_t{segment} * kSegmentBytes;
  }

  bool NeedsGrowth() const { return needs_growth_; }

  // Grow() and GrowAhead() are called without the lock.  One thread at a time allocates pages.  In
  // Grow() other threads wait for it; in GrowAhead() they return at once.
  bool IsGrowthNear() const { return growth_is_near_.load(std::memory_order_relaxed); }
  void Grow();
  void GrowAhead();

  // Whether the file can be written.  False if it was truncated, or if the host has closed its
  // descriptor and it has no name any more.  A file that merely cannot be opened again is written
  // through its mapping, and does not grow.  The caller of the first check that is false then calls
  // Forget().  Callers hold the lock.  Makes a system call or two for a named file, up to six while
  // there is no descriptor, else none.
  bool Check();
  // Makes the pages anonymous memory that nobody will read, so that stores do no harm.  Check() has
  // done so already if the file was truncated; else what the caller stores before is in the file.
  void Forget();
  // Whether a bus error has shown that the file was truncated.  Any thread, one load, no check of
  // the file.
  bool IsHarmed() const { return harm_->load(std::memory_order_relaxed); }
  // Whether the handler of bus_errors.h would catch a store after a truncation.
  bool IsProtected() const { return !is_named_ || is_protected_.load(std::memory_order_relaxed); }

 private:
  const char* OpenDescriptor(const FileId& memory_file);
  const char* Join(int fd);
  const char* Create(uint64_t limit_bytes);
  const char* MapNew(int fd, uint64_t limit_bytes);
  const char* Map(int fd);
  int TakeName(uint32_t process_id);
  Written<FileHeader> header() const { return Written<FileHeader>(base_); }
  uint32_t TakeShared();
  uint32_t TakeNamed();
  uint32_t Refuse();
  bool Allocate(uint64_t end_bytes);
  void GrowOnce();
  bool IsOurs(const struct stat& status) const;
  bool IsOurs(int fd, struct stat* status) const;
  bool IsAtPath(struct stat* status) const;
  bool FindDescriptor(struct stat* status);
  bool IsGone(struct stat* status) const;

  char* base_ = nullptr;
  uint64_t limit_bytes_ = 0;  // mapped; whole segments
  bool is_named_ = false;
  // Fields of a named file.
  FilePath path_ = {};
  FilePath fresh_path_ = {};  // until Commit(); then empty
  bool is_lost_ = false;
  const std::atomic<bool>* harm_ = &kNoHarm;
  std::atomic<bool> is_protected_{true};
  int fd_ = -1;  // used by the thread that grows or, under the lock, checks
  dev_t device_ = 0;
  ino_t inode_ = 0;
  dev_t root_device_ = 0;  // of the root directory in which it was made
  ino_t root_inode_ = 0;
  uint32_t next_ = 0;          // least segment that may be taken next
  bool needs_growth_ = false;  // the last Take() lacked pages
  std::atomic<uint64_t> allocated_bytes_{0};
  std::atomic<bool> growth_is_near_{false};
  std::atomic<bool> is_growing_{false};
  std::atomic<bool> is_full_{false};  // the disk has refused
  uint32_t refusals_ = 0;             // since the last try to grow

  static const std::atomic<bool> kNoHarm;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

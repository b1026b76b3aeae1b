// The mapped file of a recording: segments of recording_layout.h, taken one after the other.
//
// There are two kinds.  A memory file was made by somebody else, who sealed it against shrinking
// and growing; all processes of a tree share it.  A named file is made here, belongs to this
// process, and grows: its pages are allocated before anybody touches them.
//
// Open() and Close() make system calls, allocate nothing, and are called where the caller is not
// sampled.  The rest runs inside malloc, under the recorder's lock; a memory file makes no system
// call there.  No call here is a cancellation point.
#ifndef ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_
#define ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

#include <sys/types.h>

#include <cstdint>

#include "tracker/formats/recording_layout.h"
#include "tracker/recording/file_path.h"

namespace allomon::recording {

// Open()'s answer where a path in /proc, of a memory file that somebody held, leads nowhere.
extern const char* const kNoMemoryFile;
// A memory file has no room for another process.  Its owner says so, once.
extern const char* const kMemoryFileFull;

class SegmentFile {
 public:
  SegmentFile() = default;
  SegmentFile(const SegmentFile&) = delete;
  SegmentFile& operator=(const SegmentFile&) = delete;

  // nullptr, or what is wrong and what to do, for "cannot record to PATH: ".  A memory file has its
  // own limit.  A named file replaces what has the name, which another process may go on writing.
  const char* Open(const FilePath& path, uint64_t limit_bytes);
  // Leaves the file as it is.
  void Close();

  bool is_open() const { return base_ != nullptr; }
  bool is_named() const { return is_named_; }
  const FilePath& path() const { return path_; }
  uint32_t segment_count() const { return static_cast<uint32_t>(limit_bytes_ / kSegmentBytes); }

  // Of the file, as far as it reaches; all processes' segments are counted.
  uint32_t segments_used() const;

  // The number of a fresh segment, all zero; 0 if the limit is reached or there is no disk, which
  // the file's header then counts.  Any thread and any process at once for a memory file.
  uint32_t Take();
  char* At(uint32_t segment) const { return base_ + uint64_t{segment} * kSegmentBytes; }

  // False if somebody has truncated the file.  Its pages are then anonymous memory that nobody will
  // read, so that touching them harms nobody.  Cost: a system call for a named file, else nothing.
  bool IsWhole() { return !is_named_ || CheckNamed(); }

 private:
  const char* Join(int fd);
  const char* Create(uint64_t limit_bytes);
  const char* MapNew(int fd, uint64_t limit_bytes);
  const char* Map(int fd);
  FileHeader& header() const { return *reinterpret_cast<FileHeader*>(base_); }
  bool Grow(uint64_t end_bytes);
  bool GrowTo(uint64_t end_bytes);
  bool HasDescriptor() const;
  bool FindDescriptor();
  bool CheckNamed();
  void Forget();

  char* base_ = nullptr;
  uint64_t limit_bytes_ = 0;  // mapped; whole segments
  bool is_named_ = false;
  // Of a named file.
  FilePath path_ = {};
  bool is_lost_ = false;
  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint32_t refusals_ = 0;  // since the disk was asked last
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_SEGMENT_FILE_H_

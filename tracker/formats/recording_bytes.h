// The source of a recording's bytes: a file, which its process may still be changing, or memory.
//
// A reader copies each value once and validates the copy.
#ifndef ALLOMON_TRACKER_FORMATS_RECORDING_BYTES_H_
#define ALLOMON_TRACKER_FORMATS_RECORDING_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace allomon::recording {

class RecordingBytes {
 public:
  virtual ~RecordingBytes() = default;

  virtual uint64_t size() const = 0;

  // Copies `count` bytes from `offset`.  Returns false if some are missing.
  virtual bool Read(uint64_t offset, void* to, size_t count) const = 0;

  // Returns the place of the next bytes that the file really stores, from `offset` on: `offset`
  // itself, or a later one after a hole, which is all zero.
  virtual uint64_t NextData(uint64_t offset) const { return offset; }
};

// Memory that stays the caller's.  A mapped file must be sealed against shrinking, or the reader
// gets SIGBUS when the file is truncated; otherwise use FileBytes.
class MemoryBytes : public RecordingBytes {
 public:
  MemoryBytes(const void* begin, uint64_t count)
      : begin_(static_cast<const unsigned char*>(begin)), count_(count) {}

  uint64_t size() const override { return count_; }
  bool Read(uint64_t offset, void* to, size_t count) const override;

 private:
  const unsigned char* const begin_;
  const uint64_t count_;
};

// A descriptor that stays the caller's, read by pread(2).  Bytes that are cut off meanwhile are
// missing, and a hole takes no memory.
class DescriptorBytes : public RecordingBytes {
 public:
  explicit DescriptorBytes(int fd) : fd_(fd) {}

  uint64_t size() const override;  // as it is now
  bool Read(uint64_t offset, void* to, size_t count) const override;
  uint64_t NextData(uint64_t offset) const override;

 private:
  const int fd_;
};

// A file by its name; owns its descriptor.
class FileBytes : public RecordingBytes {
 public:
  FileBytes() = default;
  ~FileBytes() override;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  // Opens the file; call it once.  On failure returns false, and *error is one line without the
  // file's name.  A pipe or a folder is refused, without waiting for a writer.
  bool Open(const std::string& path, std::string* error);

  uint64_t size() const override { return DescriptorBytes(fd_).size(); }
  bool Read(uint64_t offset, void* to, size_t count) const override {
    return DescriptorBytes(fd_).Read(offset, to, count);
  }
  uint64_t NextData(uint64_t offset) const override {
    return DescriptorBytes(fd_).NextData(offset);
  }

 private:
  int fd_ = -1;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_FORMATS_RECORDING_BYTES_H_

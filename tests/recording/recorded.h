// Shared by the tests of recordings: records this process at rate 1, so that every block is
// recorded, and reads the file back.
#ifndef ALLOMON_TESTS_RECORDING_RECORDED_H_
#define ALLOMON_TESTS_RECORDING_RECORDED_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/formats/recording.h"
#include "tracker/recording.h"

namespace allomon::testing {

inline std::string ScratchPath(const std::string& name) {
  return ::testing::TempDir() + "/" + name + "." + std::to_string(getpid()) + ".rec";
}

inline recording::Recording ReadFile(const std::string& path) {
  recording::FileBytes bytes;
  recording::Recording read;
  std::string error;
  EXPECT_TRUE(bytes.Open(path, &error)) << error;
  EXPECT_TRUE(ReadRecording(bytes, &read, &error)) << error;
  return read;
}

// A recording that continues until Stop() or the end of the scope.
class Recorded {
 public:
  explicit Recorded(RecordingOptions options) : path_(options.path) {
    const absl::StatusOr<RecordingId> id = Recording::Start(options);
    EXPECT_TRUE(id.ok()) << id.status();
    if (id.ok()) id_ = *id;
  }
  ~Recorded() {
    Stop();
    unlink(path_.c_str());
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;

  void Stop() {
    if (id_.value != 0) {
      EXPECT_TRUE(Recording::Stop(id_).ok());
    }
    id_ = {};
  }
  RecordingId id() const { return id_; }
  const std::string& path() const { return path_; }
  Recording::Statistics Statistics() const { return *Recording::ReadStatistics(id_); }
  recording::Recording Read() const { return ReadFile(path_); }
  recording::Process ReadProcess() const {
    const recording::Recording read = Read();
    EXPECT_EQ(read.processes.size(), 1u);
    return read.processes.empty() ? recording::Process{} : read.processes[0];
  }

 private:
  std::string path_;
  RecordingId id_;
};

inline RecordingOptions EveryBlock(const std::string& name) {
  RecordingOptions options;
  options.path = ScratchPath(name);
  options.rate = 1;
  options.seed = 1;
  return options;
}

// A file in memory that all processes of a tree record into, as made by `allomon run`.
class MemoryFile {
 public:
  explicit MemoryFile(uint64_t limit_bytes)
      : fd_(memfd_create("recording", MFD_ALLOW_SEALING | MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(limit_bytes)), 0);
    recording::FileHeader header = {};
    memcpy(header.magic, recording::kMagic, sizeof(header.magic));
    header.version = recording::kLayoutVersion;
    header.segment_bytes = recording::kSegmentBytes;
    header.limit_bytes = limit_bytes;
    header.segments_used = 1;
    EXPECT_EQ(pwrite(fd_, &header, sizeof(header), 0), static_cast<ssize_t>(sizeof(header)));
    EXPECT_EQ(fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }
  std::string path() const {
    return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd_);
  }

 private:
  const int fd_;
};

// Returns the sum of all rows with blocks of that size class, which must have one stack; an empty
// row if there are no such blocks.
inline recording::Process::Row RowOfSize(const recording::Process& process, uint64_t size_bytes) {
  recording::Process::Row found;
  for (const recording::Process::Row& row : process.rows) {
    if (row.size_class != recording::SizeClassOf(size_bytes) + 1) continue;
    if (found.size_class == 0) {
      found = row;
      continue;
    }
    EXPECT_EQ(row.node, found.node) << size_bytes;
    found.allocated.Add(row.allocated);
    found.live.Add(row.live);
    found.peak.Add(row.peak);
  }
  return found;
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_RECORDING_RECORDED_H_

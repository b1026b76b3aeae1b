// A memory file, which all processes of a tree share.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"
#include "tracker/recording/start.h"

namespace allomon {
namespace {

using recording::FileHeader;
using recording::Process;
using testing::EveryBlock;

constexpr uint64_t kLimit = uint64_t{16} << 20;

class MemoryFile : public testing::MemoryFile {
 public:
  MemoryFile() : testing::MemoryFile(kLimit) {}

  RecordingId Start() const {
    RecordingOptions options = EveryBlock("memory");
    options.path = path();
    const absl::StatusOr<RecordingId> id = Recording::Start(options);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.ok() ? *id : RecordingId{};
  }
  // Starts and stops a recording that expects this file; returns the error.
  const char* StartIfItIs(const recording::FileId& id) const {
    const std::string name = path();
    recording::StartOptions options;
    options.path = name.c_str();
    options.rate = 1;
    options.memory_file = id;
    const recording::Started started = recording::StartRecorder(options);
    EXPECT_EQ(recording::StopRecorder(started.session), started.error == nullptr);
    return started.error;
  }
  recording::FileId Id() const {
    struct stat status = {};
    EXPECT_EQ(fstat(fd(), &status), 0);
    return {status.st_dev, status.st_ino};
  }
  recording::Recording Read() const {
    recording::Recording read;
    std::string error;
    EXPECT_TRUE(ReadRecording(recording::DescriptorBytes(fd()), &read, &error)) << error;
    return read;
  }
};

// `allomon run` has ended, and another one has the same process id and descriptor number.
TEST(MemoryFileTest, FileOfAnotherThatHasTheNameIsNotJoined) {
  const MemoryFile expected, found;
  EXPECT_EQ(found.StartIfItIs(expected.Id()), recording::kNoMemoryFile);
  EXPECT_EQ(found.Read().processes.size(), 0u);
  EXPECT_EQ(expected.StartIfItIs(expected.Id()), nullptr);
  EXPECT_EQ(expected.Read().processes.size(), 1u);
}

TEST(MemoryFileTest, ChildrenTakeSegmentsOfTheSameFile) {
  const MemoryFile file;
  const RecordingId id = file.Start();
  void* const block = SamplingMalloc(1000);
  std::vector<pid_t> children;
  for (uint64_t i = 1; i <= 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      SamplingFree(block);
      for (uint64_t k = 0; k < 100 * i; ++k) SamplingFree(SamplingMalloc(200));
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const recording::Recording read = file.Read();
  ASSERT_EQ(read.processes.size(), 4u);
  EXPECT_EQ(read.processes[0].record.live.bytes, 1000u);
  EXPECT_EQ(read.processes[0].record.allocated.bytes, 1000u);
  for (const Process& process : read.processes) {
    for (uint64_t i = 1; i <= 3; ++i) {
      if (process.record.pid != static_cast<uint32_t>(children[i - 1])) continue;
      EXPECT_EQ(process.record.allocated.bytes, 100 * i * 200);
      EXPECT_EQ(process.record.parent_pid, static_cast<uint32_t>(getpid()));
      EXPECT_EQ(process.record.live.samples, 0u);
      EXPECT_TRUE(process.record.is_forked);
      EXPECT_EQ(process.program, read.processes[0].program);
    }
  }
  SamplingFree(block);
  EXPECT_TRUE(Recording::Stop(id).ok());
}

uint64_t Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The first sample of a child begins its recording, and is of that time.
TEST(MemoryFileTest, ChildsTimeCountsFromItsOwnBegin) {
  const MemoryFile file;
  const RecordingId id = file.Start();
  SamplingFree(SamplingMalloc(1000));
  usleep(300'000);
  const uint64_t before = Now();
  const pid_t child = fork();
  if (child == 0) {
    SamplingFree(SamplingMalloc(200));
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const uint64_t lifetime_nanos = Now() - before;
  const recording::Recording read = file.Read();
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[1].record.allocated.bytes, 200u);
  EXPECT_LE(read.processes[1].record.last_nanos, lifetime_nanos);
  EXPECT_TRUE(Recording::Stop(id).ok());
}

// Installs a filter that kills for every system call except those that end a process and those that
// allocate memory.
void ConfineYourself() {
  const auto allow = [](unsigned call) {
    return sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
  };
  constexpr sock_filter kAllow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      allow(SYS_exit_group),
      kAllow,
      allow(SYS_mmap),
      kAllow,
      allow(SYS_munmap),
      kAllow,
      allow(SYS_mprotect),
      kAllow,
      allow(SYS_madvise),
      kAllow,
      allow(SYS_membarrier),
      kAllow,
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(3);
  }
}

// The child's first sample comes after the filter is installed.
TEST(MemoryFileTest, FilterThatKillsDoesNotEndTheRecording) {
  const MemoryFile file;
  const RecordingId id = file.Start();
  SamplingFree(SamplingMalloc(10));
  const pid_t child = fork();
  if (child == 0) {
    ConfineYourself();
    for (int i = 0; i < 1000; ++i) SamplingFree(SamplingMalloc(200));
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  const recording::Recording read = file.Read();
  ASSERT_EQ(read.processes.size(), 2u);
  EXPECT_EQ(read.processes[1].record.pid, static_cast<uint32_t>(child));
  EXPECT_EQ(read.processes[1].record.allocated.bytes, 200'000u);
  EXPECT_TRUE(Recording::Stop(id).ok());
}

// Several processes with the same file race for its segments.
TEST(MemoryFileTest, ProcessesRaceForSegments) {
  const MemoryFile file;
  const RecordingId id = file.Start();
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::thread> threads;
      for (int k = 0; k < 4; ++k) {
        threads.emplace_back([] {
          for (size_t size = 1; size < 2000; ++size) SamplingFree(SamplingMalloc(size));
        });
      }
      for (std::thread& thread : threads) thread.join();
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const recording::Recording read = file.Read();
  ASSERT_EQ(read.processes.size(), 9u);
  for (const Process& process : read.processes) {
    if (!process.record.is_forked) continue;
    EXPECT_EQ(process.record.allocated.samples, 4u * 1999);
    EXPECT_EQ(process.damaged, 0u);
  }
  EXPECT_TRUE(Recording::Stop(id).ok());
}

// A process that writes to the file sets the count of its segments back.
TEST(MemoryFileTest, ProcessTakesNoSegmentTwice) {
  const MemoryFile file;
  const RecordingId id = file.Start();
  std::vector<void*> blocks;
  const uint64_t first = 1;
  for (uint64_t round = 1; round <= 3; ++round) {
    while (blocks.size() < round * 5000) blocks.push_back(SamplingMalloc(200));
    EXPECT_EQ(pwrite(file.fd(), &first, sizeof(first), offsetof(FileHeader, segments_used)),
              static_cast<ssize_t>(sizeof(first)));
  }
  for (void* const block : blocks) SamplingFree(block);
  for (const uint64_t count : {uint64_t{0}, UINT64_MAX}) {
    EXPECT_EQ(pwrite(file.fd(), &count, sizeof(count), offsetof(FileHeader, segments_used)),
              static_cast<ssize_t>(sizeof(count)));
    SamplingFree(SamplingMalloc(5000));
  }
  const recording::Recording read = file.Read();
  ASSERT_EQ(read.processes.size(), 1u);
  EXPECT_EQ(read.processes[0].damaged, 0u);
  EXPECT_EQ(read.processes[0].record.allocated.samples, 15002u);
  EXPECT_EQ(read.processes[0].record.live.samples, 0u);
  EXPECT_EQ(testing::RowOfSize(read.processes[0], 200).allocated.samples, 15000u);
  EXPECT_TRUE(Recording::Stop(id).ok());
}

}  // namespace
}  // namespace allomon

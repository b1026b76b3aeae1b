// A file that is full, or disappears, costs samples but never harms the host.
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "allocator/allocator.h"
#include "tests/recording/recorded.h"

namespace allomon {
namespace {

using recording::Process;
using testing::EveryBlock;
using testing::ReadFile;
using testing::Recorded;
using testing::ScratchPath;

// Makes distinct stacks: each path through the tree of depth `depth` is one.
__attribute__((noinline)) void AllocateOnPath(unsigned path, int depth, std::vector<void*>* kept) {
  if (depth == 0) return kept->push_back(SamplingMalloc(16));
  if ((path & 1) != 0) {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop");
  } else {
    AllocateOnPath(path >> 1, depth - 1, kept);
    asm volatile("nop; nop");
  }
}

void FreeAll(const std::vector<void*>& blocks) {
  for (void* block : blocks) SamplingFree(block);
}

TEST(FileTest, LimitDropsAndCountsWhatHasNoRoom) {
  RecordingOptions options = EveryBlock("limit");
  options.limit_bytes = recording::kLeastLimitBytes;
  const Recorded recorded(options);
  std::vector<void*> kept;
  kept.reserve(40'000);
  for (unsigned path = 0; path < 40'000; ++path) AllocateOnPath(path, 16, &kept);
  const Process process = recorded.ReadProcess();
  const uint64_t missing = process.record.missing[recording::Shortage::kSamples];
  EXPECT_GT(missing, 0u);
  EXPECT_EQ(missing + process.record.allocated.samples, 40'000u);
  EXPECT_EQ(process.record.missing[recording::Shortage::kBytes], missing * 16);
  EXPECT_GT(recorded.Read().header.segments_lost, 0u);
  struct stat status;
  ASSERT_EQ(stat(recorded.path().c_str(), &status), 0);
  EXPECT_LE(static_cast<uint64_t>(status.st_size), recording::kLeastLimitBytes);
  FreeAll(kept);
  EXPECT_EQ(recorded.ReadProcess().record.live.bytes, 0u);
}

// Runs `body` in a child; returns whether it ended successfully.
template <typename Body>
bool ChildEndsWell(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(FileTest, LimitOfFileSizesSendsNoSignal) {
  EXPECT_TRUE(ChildEndsWell([] {
    const rlimit limit = {2 << 20, 2 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Recorded recorded(EveryBlock("fsize"));
    std::vector<void*> kept;
    kept.reserve(40'000);
    for (unsigned path = 0; path < 40'000; ++path) AllocateOnPath(path, 16, &kept);
    EXPECT_GT(recorded.Statistics().dropped_samples, 0u);
    EXPECT_FALSE(recorded.Statistics().lost);
  }));
}

TEST(FileTest, FileOfNoSizeAtAllIsRefused) {
  EXPECT_TRUE(ChildEndsWell([] {
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto started = Recording::Start(EveryBlock("nosize"));
    EXPECT_EQ(started.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(access(EveryBlock("nosize").path.c_str(), F_OK), 0) << "leaves no file";
  }));
}

// Checks only that the process survives: four threads write while the file is truncated.
TEST(FileTest, TruncatedWhileThreadsWrite) {
  for (int round = 0; round < 20; ++round) {
    const Recorded recorded(EveryBlock("truncated"));
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&done] {
        while (!done) SamplingFree(SamplingMalloc(40));
      });
    }
    while (recorded.Statistics().samples < 100) usleep(100);
    ASSERT_EQ(truncate(recorded.path().c_str(), round % 2 == 0 ? 0 : 300'000), 0);
    while (!recorded.Statistics().lost) SamplingFree(SamplingMalloc(40));
    const uint64_t dropped = recorded.Statistics().dropped_samples;
    while (recorded.Statistics().dropped_samples < dropped + 100) usleep(100);
    done = true;
    for (std::thread& thread : threads) thread.join();
  }
}

// Daemons do this.
TEST(FileTest, HostThatClosesAllDescriptorsGoesOnRecording) {
  EXPECT_TRUE(ChildEndsWell([] {
    const Recorded recorded(EveryBlock("closed"));
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    const int taken = open("/dev/null", O_RDONLY);
    std::vector<void*> kept;
    kept.reserve(40'000);
    for (unsigned path = 0; path < 40'000; ++path) AllocateOnPath(path, 16, &kept);
    EXPECT_EQ(recorded.ReadProcess().record.allocated.samples, 40'000u);
    close(taken);
  }));
}

TEST(FileTest, UnlinkedFileOfAHostThatClosedAllDescriptorsIsGivenUp) {
  EXPECT_TRUE(ChildEndsWell([] {
    const Recorded recorded(EveryBlock("unlinked"));
    SamplingFree(SamplingMalloc(40));
    const std::string kept = ScratchPath("kept");
    ASSERT_EQ(link(recorded.path().c_str(), kept.c_str()), 0);
    unlink(recorded.path().c_str());
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    usleep(20'000);  // the recorder looks at its file every 10 ms
    SamplingFree(SamplingMalloc(40));
    EXPECT_TRUE(recorded.Statistics().lost);
    EXPECT_EQ(recorded.Statistics().dropped_samples, 1u);
    EXPECT_TRUE(ReadFile(kept).processes[0].record.lost) << "the file says so";
    unlink(kept.c_str());
  }));
}

// Records more than the file has room for until it grows, after the host has closed the recorder's
// descriptor and has taken its path away.
void ExpectItGoesOn(const Recorded& recorded) {
  usleep(20'000);  // the recorder looks at its file every 10 ms
  SamplingFree(SamplingMalloc(40));
  EXPECT_EQ(recorded.Statistics().samples, 2u);
  EXPECT_EQ(recorded.Statistics().dropped_samples, 0u);
  std::vector<void*> kept;
  kept.reserve(40'000);
  for (unsigned path = 0; path < 40'000; ++path) AllocateOnPath(path, 16, &kept);
  EXPECT_FALSE(recorded.Statistics().lost);
  EXPECT_GT(recorded.Statistics().dropped_samples, 0u) << "the file does not grow";
  FreeAll(kept);
}

// The file grows again when it can be opened.
void ExpectItGrows(const Recorded& recorded) {
  const uint64_t before = recorded.ReadProcess().record.allocated.samples;
  std::vector<void*> kept;
  kept.reserve(40'000);
  for (unsigned path = 0; path < 40'000; ++path) AllocateOnPath(path, 16, &kept);
  EXPECT_GT(recorded.ReadProcess().record.allocated.samples, before + 20'000);
  FreeAll(kept);
}

TEST(FileTest, HostThatHasNoDescriptorToSpareGoesOnRecording) {
  EXPECT_TRUE(ChildEndsWell([] {
    const Recorded recorded(EveryBlock("spare"));
    SamplingFree(SamplingMalloc(40));  // the file has room for more than that
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none = {0, limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    ExpectItGoesOn(recorded);
    setrlimit(RLIMIT_NOFILE, &limit);
    ExpectItGrows(recorded);
  }));
}

TEST(FileTest, HostThatHasAnotherRootGoesOnRecording) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may change its root";
  EXPECT_TRUE(ChildEndsWell([] {
    const Recorded recorded(EveryBlock("root"));
    SamplingFree(SamplingMalloc(40));  // the file has room for more than that
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    const int root = open("/", O_RDONLY | O_DIRECTORY);
    ASSERT_EQ(chroot(::testing::TempDir().c_str()), 0);
    ExpectItGoesOn(recorded);
    ASSERT_EQ(fchdir(root), 0);
    ASSERT_EQ(chroot("."), 0);
    ExpectItGrows(recorded);
  }));
}

// Root may open any file.
void GiveUpCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  ASSERT_EQ(syscall(SYS_capset, &header, none), 0);
}

TEST(FileTest, HostThatMayNotOpenTheFileAnyMoreGoesOnRecording) {
  EXPECT_TRUE(ChildEndsWell([] {
    const Recorded recorded(EveryBlock("rights"));
    SamplingFree(SamplingMalloc(40));  // the file has room for more than that
    for (int fd = 3; fd < 2000; ++fd) close(fd);
    const int file = open(recorded.path().c_str(), O_RDWR);
    ASSERT_EQ(fchmod(file, 0), 0);
    GiveUpCapabilities();
    ExpectItGoesOn(recorded);
    ASSERT_EQ(ftruncate(file, 0), 0);
    while (!recorded.Statistics().lost) SamplingFree(SamplingMalloc(40));
  }));
}

TEST(FileTest, WhatIsNoRegularFileStaysWhatItIs) {
  RecordingOptions options = EveryBlock("directory");
  options.path = ::testing::TempDir();
  EXPECT_FALSE(Recording::Start(options).ok());
  options.path = "/dev/null";
  EXPECT_FALSE(Recording::Start(options).ok());
  options.path = ScratchPath("pipe");
  ASSERT_EQ(mkfifo(options.path.c_str(), 0600), 0);
  EXPECT_FALSE(Recording::Start(options).ok());
  unlink(options.path.c_str());
  // If run by root, the recording could replace the link, for all programs.
  options.path = "/dev/stdout";
  EXPECT_FALSE(Recording::Start(options).ok());
  options.path = ScratchPath("link");
  ASSERT_EQ(symlink("/dev/null", options.path.c_str()), 0);
  EXPECT_FALSE(Recording::Start(options).ok());
  struct stat status;
  ASSERT_EQ(lstat(options.path.c_str(), &status), 0);
  EXPECT_TRUE(S_ISLNK(status.st_mode));
  unlink(options.path.c_str());
}

// Covers every reason for which a start may be refused, except those in which the file cannot exist
// at its path.
TEST(FileTest, RefusedStartLeavesWhatHasTheName) {
  std::string folder = ::testing::TempDir() + "/refused.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  RecordingOptions good = EveryBlock("refused");
  good.path = folder + "/x.rec";
  const auto is_refused = [&](const RecordingOptions& options) {
    std::ofstream(good.path) << "precious";
    EXPECT_FALSE(Recording::Start(options).ok());
    std::string kept;
    std::ifstream(good.path) >> kept;
    const auto files = std::distance(std::filesystem::directory_iterator(folder), {});
    return kept == "precious" && files == 1;
  };
  for (const double rate : {2.0, -1.0, std::nan(""), 1e-13}) {
    RecordingOptions options = good;
    options.rate = rate;
    EXPECT_TRUE(is_refused(options)) << rate;
  }
  RecordingOptions deep = good, small = good;
  deep.callstack_size = 1025;
  EXPECT_TRUE(is_refused(deep));
  small.limit_bytes = 1;
  EXPECT_TRUE(is_refused(small));
  EXPECT_TRUE(ChildEndsWell([&] {
    const rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_TRUE(is_refused(good));
  }));
  EXPECT_TRUE(ChildEndsWell([&] {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    EXPECT_FALSE(Recording::Start(good).ok());
  }));
  {
    const Recorded first(EveryBlock("first")), second(EveryBlock("second"));
    EXPECT_TRUE(is_refused(good)) << "a third one";
  }
  std::filesystem::remove_all(folder);
}

TEST(FileTest, ForkedChildHasAFileOfItsOwn) {
  const Recorded recorded(EveryBlock("fork"));
  void* const block = SamplingMalloc(1000);
  const std::string child_path = recorded.path() + ".";
  const pid_t child = fork();
  if (child == 0) {
    SamplingFree(block);  // the parent's: nobody's here
    SamplingFree(SamplingMalloc(2000));
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const Process parent = recorded.ReadProcess();
  EXPECT_EQ(parent.record.live.bytes, 1000u);
  EXPECT_EQ(parent.record.allocated.bytes, 1000u);
  const recording::Recording read = ReadFile(child_path + std::to_string(child));
  ASSERT_EQ(read.processes.size(), 1u);
  const Process::Record& record = read.processes[0].record;
  EXPECT_EQ(record.pid, static_cast<uint32_t>(child));
  EXPECT_EQ(record.parent_pid, static_cast<uint32_t>(getpid()));
  EXPECT_TRUE(record.is_forked);
  EXPECT_EQ(record.allocated.bytes, 2000u);
  EXPECT_EQ(record.live.bytes, 0u);
  unlink((child_path + std::to_string(child)).c_str());
  SamplingFree(block);
}

TEST(FileTest, ChildThatAllocatesNothingLeavesNothing) {
  const Recorded recorded(EveryBlock("idle"));
  SamplingFree(SamplingMalloc(1000));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_NE(access((recorded.path() + "." + std::to_string(child)).c_str(), F_OK), 0);
}

TEST(FileTest, VforkedChildWritesAsItsParent) {
  const Recorded recorded(EveryBlock("vfork"));
  static volatile bool shared = false;
  const pid_t child = vfork();
  if (child == 0) {
    shared = true;
    SamplingFree(SamplingMalloc(1000));
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  if (!shared) GTEST_SKIP() << "a sanitizer's vfork is a fork";
  EXPECT_EQ(recorded.ReadProcess().record.allocated.bytes, 1000u);
}

}  // namespace
}  // namespace allomon

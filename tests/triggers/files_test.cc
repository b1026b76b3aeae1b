// The files of copies, and the files that tell limits.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tracker/base/memory_limit.h"
#include "tracker/triggers/copy_file.h"

namespace allomon::triggers {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/files.XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string Path(const std::string& name) const { return root_ + "/" + name; }
  void Write(const std::string& name, const std::string& text) {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name)) << text;
  }
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(root_)) names.insert(entry.path().filename());
    return names;
  }
  int Copy(CopyFile* file, const std::string& text, uint32_t keep) {
    int error = file->Begin(text.size());
    if (error == 0) error = file->Write(0, text.data(), text.size());
    return error != 0 ? error : file->Finish("peak", keep);
  }

  std::string root_;
};

using CopyFileTest = FilesTest;
using MemoryLimitTest = FilesTest;

TEST_F(CopyFileTest, NewestIsTheFirstAndNoMoreAreKept) {
  CopyFile file;
  file.SetPlace(root_, "x");
  for (const char* const text : {"a", "b", "c", "d"}) ASSERT_EQ(Copy(&file, text, 3), 0);
  EXPECT_EQ(Names(), (std::set<std::string>{"x.peak.1.rec", "x.peak.2.rec", "x.peak.3.rec"}));
  EXPECT_EQ(Read("x.peak.1.rec") + Read("x.peak.2.rec") + Read("x.peak.3.rec"), "dcb");
}

TEST_F(CopyFileTest, CopyThatFailsTakesNothingAway) {
  CopyFile file;
  file.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&file, "a", 1), 0);
  ASSERT_EQ(file.Begin(1), 0);
  ASSERT_EQ(file.Write(0, "b", 1), 0);
  EXPECT_EQ(Names().count("x.saving.rec"), 1u);
  file.Abandon();
  EXPECT_EQ(Names(), std::set<std::string>{"x.peak.1.rec"});
  EXPECT_EQ(Read("x.peak.1.rec"), "a");
}

TEST_F(CopyFileTest, WhatAKilledProcessHasLeftIsReplaced) {
  Write("x.saving.rec", "half");
  CopyFile file;
  file.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&file, "a", 1), 0);
  EXPECT_EQ(Names(), std::set<std::string>{"x.peak.1.rec"});
}

TEST_F(CopyFileTest, OtherProcessWithTheSameStemHasNamesOfItsOwn) {
  // Locks belong to file descriptions, so two objects behave like two processes.
  CopyFile first, second;
  first.SetPlace(root_, "x");
  second.SetPlace(root_, "x");
  ASSERT_EQ(first.Begin(1), 0);
  ASSERT_EQ(first.Write(0, "a", 1), 0);
  for (const char* const text : {"b", "c", "d"}) ASSERT_EQ(Copy(&second, text, 2), 0);
  ASSERT_EQ(first.Finish("peak", 2), 0);
  for (const char* const text : {"e", "f"}) ASSERT_EQ(Copy(&second, text, 2), 0);
  EXPECT_EQ(Read("x.peak.1.rec") + Read("x.2.peak.1.rec") + Read("x.2.peak.2.rec"), "afe");
  EXPECT_EQ(Names().size(), 3u);
}

TEST_F(CopyFileTest, CopiesOfAProcessThatRunsAreNotTheOlderOnesOfAnother) {
  CopyFile first, second;
  first.SetPlace(root_, "x");
  second.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&first, "a", 1), 0);
  ASSERT_EQ(Copy(&second, "b", 1), 0);
  EXPECT_EQ(Read("x.peak.1.rec") + Read("x.2.peak.1.rec"), "ab");
  // The first recording is no longer being written.
  first.SetPlace(root_, "y");
  second.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&second, "c", 2), 0);
  EXPECT_EQ(Read("x.peak.1.rec") + Read("x.peak.2.rec"), "ca");
}

TEST_F(CopyFileTest, CopyThatCannotBeginRemovesNothingOfAnother) {
  CopyFile first, second;
  first.SetPlace(root_, "x");
  second.SetPlace(root_, "x");
  ASSERT_EQ(first.Begin(1), 0);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(second.Begin(1), EMFILE);
  second.Abandon();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(Names(), std::set<std::string>{"x.saving.rec"});
}

TEST_F(CopyFileTest, SymbolicLinkIsReplacedAndNotFollowed) {
  Write("precious", "p");
  ASSERT_EQ(symlink(Path("precious").c_str(), Path("x.saving.rec").c_str()), 0);
  CopyFile file;
  file.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&file, "a", 1), 0);
  EXPECT_EQ(Read("precious"), "p");
}

TEST_F(CopyFileTest, DirectoryThatIsMissingIsFoundWhenItComes) {
  CopyFile file;
  file.SetPlace(Path("later"), "x");
  EXPECT_EQ(Copy(&file, "a", 1), ENOENT);
  ASSERT_EQ(mkdir(Path("later").c_str(), 0700), 0);
  EXPECT_EQ(Copy(&file, "a", 1), 0);
  fs::remove_all(Path("later"));
  ASSERT_EQ(mkdir(Path("later").c_str(), 0700), 0);
  EXPECT_EQ(Copy(&file, "b", 1), 0);
  EXPECT_EQ(Read("later/x.peak.1.rec"), "b");
}

TEST_F(CopyFileTest, DescriptorThatTheHostTookIsLeftAlone) {
  CopyFile file;
  file.SetPlace(root_, "x");
  ASSERT_EQ(Copy(&file, "a", 1), 0);
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  std::set<int> own;
  for (int fd = 0; fd != 1023 && (fd = open("/dev/null", O_RDONLY)) >= 0;) own.insert(fd);
  for (const int fd : own) {
    if (fd < 900) close(fd);
  }
  EXPECT_EQ(Copy(&file, "b", 1), 0);
  for (const int fd : own) {
    if (fd >= 900) {
      EXPECT_EQ(close(fd), 0);
    }
  }
  EXPECT_EQ(Read("x.peak.1.rec"), "b");
}

TEST_F(CopyFileTest, NamesThatAreTooLongAreAnError) {
  CopyFile file;
  file.SetPlace(root_, std::string(250, 'x'));
  EXPECT_EQ(Copy(&file, "a", 1), ENAMETOOLONG);
  file.SetPlace(std::string(PATH_MAX, 'x'), "x");
  EXPECT_EQ(Copy(&file, "a", 1), ENAMETOOLONG);
}

TEST_F(CopyFileTest, LimitOfFileSizesIsAnErrorAndNoSignal) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  CopyFile file;
  file.SetPlace(root_, "x");
  EXPECT_EQ(file.Begin(4097), EFBIG);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
}

TEST_F(CopyFileTest, DeviceThatIsFullIsAnError) {
  CopyFile file;
  file.SetPlace(root_, "x");
  ASSERT_EQ(file.Begin(1), 0);
  // /dev/full replaces the file: the test cannot fill a disk.
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  int replaced = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat status;
    if (fd != full && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        fs::read_symlink("/proc/self/fd/" + std::to_string(fd)) == Path("x.saving.rec")) {
      replaced += dup2(full, fd) == fd;
    }
  }
  close(full);
  ASSERT_EQ(replaced, 1);
  EXPECT_EQ(file.Write(0, "a", 1), ENOSPC);
  file.Abandon();
  EXPECT_EQ(Names(), std::set<std::string>());
}

// Pages of a file that are in memory.
uint64_t CountResident(const std::string& path) {
  const uint64_t bytes = fs::file_size(path);
  const int fd = open(path.c_str(), O_RDONLY);
  void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  std::vector<unsigned char> resident(bytes / 4096);
  EXPECT_EQ(mincore(pages, bytes, resident.data()), 0);
  munmap(pages, bytes);
  return static_cast<uint64_t>(
      std::count_if(resident.begin(), resident.end(), [](unsigned char c) { return c & 1; }));
}

TEST_F(CopyFileTest, CopyAtTheLimitLeavesNoPagesInMemory) {
  struct statfs system;
  ASSERT_EQ(statfs(root_.c_str(), &system), 0);
  if (system.f_type == TMPFS_MAGIC) GTEST_SKIP() << "NOT TESTED: the scratch folder is in memory";
  CopyFile file;
  file.SetPlace(root_, "x");
  const std::string segment(64 << 10, 's');
  for (const auto pages : {CopyFile::Pages::kLeft, CopyFile::Pages::kGivenUp}) {
    ASSERT_EQ(file.Begin(0, pages), 0);
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_EQ(file.Write(i * segment.size(), segment.data(), segment.size()), 0);
    }
    ASSERT_EQ(file.Finish("limit", 1), 0);
    const uint64_t resident = CountResident(Path("x.limit.1.rec"));
    if (pages == CopyFile::Pages::kGivenUp) {
      EXPECT_EQ(resident, 0u);
    } else {
      EXPECT_EQ(resident, 1600u);
    }
  }
}

using internal::MemoryLimit;
using internal::MemoryUsage;

MemoryUsage ReadIn(const std::string& root, uint32_t percent = 90) {
  MemoryLimit limit(MemoryLimit::Bound::kKills, root.c_str());
  return limit.Read(percent, 0);
}

TEST_F(MemoryLimitTest, NearestOfTheLimitsAboveCounts) {
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/memory.max", "1000\n");
  Write("sys/fs/cgroup/a/memory.current", "800\n");
  Write("sys/fs/cgroup/a/b/memory.max", "2000\n");
  Write("sys/fs/cgroup/a/b/memory.current", "700\n");
  const MemoryUsage usage = ReadIn(root_);
  EXPECT_EQ(usage.limit_bytes, 1000u);
  EXPECT_EQ(usage.used_bytes, 800u);
  EXPECT_FALSE(usage.is_addresses);
}

TEST_F(MemoryLimitTest, FilesThatTheKernelWouldGiveUpDoNotCount) {
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "1000\n");
  Write("sys/fs/cgroup/memory.current", "950\n");
  Write("sys/fs/cgroup/memory.stat", "anon 100\nfile 800\ninactive_anon 1\ninactive_file 600\n");
  EXPECT_EQ(ReadIn(root_).used_bytes, 350u);
  EXPECT_EQ(ReadIn(root_, 99).used_bytes, 950u) << "not looked at below the share";
}

// Version 2 has a second limit, beyond which processes are held up: a part of the callers ask for
// it.
TEST_F(MemoryLimitTest, LimitThatSlowsIsTheSmallerOfTwo) {
  MemoryLimit limit(MemoryLimit::Bound::kSlows, root_.c_str());
  Write("proc/self/cgroup", "0::/a/b\n");
  Write("sys/fs/cgroup/a/memory.max", "max\n");
  Write("sys/fs/cgroup/a/memory.high", "900\n");
  Write("sys/fs/cgroup/a/memory.current", "600\n");
  Write("sys/fs/cgroup/a/b/memory.max", "1000\n");
  Write("sys/fs/cgroup/a/b/memory.high", "max\n");
  Write("sys/fs/cgroup/a/b/memory.current", "500\n");
  EXPECT_EQ(ReadIn(root_).limit_bytes, 1000u);
  EXPECT_EQ(limit.Read(90, 0).limit_bytes, 900u);
  Write("sys/fs/cgroup/a/b/memory.high", "700\n");
  EXPECT_EQ(limit.Read(90, 0).limit_bytes, 700u);
  EXPECT_EQ(limit.Read(90, 0).used_bytes, 500u);
}

TEST_F(MemoryLimitTest, VersionOne) {
  Write("proc/self/cgroup", "9:name=systemd:/s\n4:cpu,memory:/m\n0::/u\n");
  Write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1000\n");
  Write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "960\n");
  Write("sys/fs/cgroup/memory/m/memory.stat", "inactive_file 1\ntotal_inactive_file 30\n");
  const MemoryUsage usage = ReadIn(root_);
  EXPECT_EQ(usage.limit_bytes, 1000u);
  EXPECT_EQ(usage.used_bytes, 930u);
}

TEST_F(MemoryLimitTest, NoLimitIsNone) {
  Write("proc/self/cgroup", "4:memory:/m\n");
  Write("sys/fs/cgroup/memory/m/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/m/memory.usage_in_bytes", "960\n");
  EXPECT_EQ(ReadIn(root_).limit_bytes, 0u);
  Write("proc/self/cgroup", "0::/m\n");
  Write("sys/fs/cgroup/m/memory.max", "max\n");
  EXPECT_EQ(ReadIn(root_).limit_bytes, 0u);
}

TEST_F(MemoryLimitTest, ContainerSeesItsOwnCgroupAtTheMount) {
  Write("sys/fs/cgroup/memory.max", "1000\n");
  Write("sys/fs/cgroup/memory.current", "10\n");
  for (const char* const path : {"0::/docker/123\n", "0::/../../other\n", "0::/\n"}) {
    Write("proc/self/cgroup", path);
    EXPECT_EQ(ReadIn(root_).limit_bytes, 1000u) << path;
  }
}

TEST_F(MemoryLimitTest, FilesThatMakeNoSenseAreNoLimit) {
  for (const char* const text :
       {"", "\n", "::", "0:", "0::", "0::relative\n", "memory", "4:memory", "\xff\xfe\n:::\n"}) {
    Write("proc/self/cgroup", text);
    EXPECT_EQ(ReadIn(root_).limit_bytes, 0u) << text;
  }
  Write("proc/self/cgroup", "0::/" + std::string(6000, 'x') + "\n");
  EXPECT_EQ(ReadIn(root_).limit_bytes, 0u);
  Write("proc/self/cgroup", "0::/\n");
  for (const char* const text : {"99999999999999999999999999\n", "-1\n", "x\n", "", "0\n"}) {
    Write("sys/fs/cgroup/memory.max", text);
    Write("sys/fs/cgroup/memory.current", "5\n");
    EXPECT_EQ(ReadIn(root_).limit_bytes, 0u) << text;
  }
}

TEST_F(MemoryLimitTest, LimitThatComesLaterIsFound) {
  MemoryLimit limit(MemoryLimit::Bound::kKills, root_.c_str());
  EXPECT_EQ(limit.Read(90, 0).limit_bytes, 0u);
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/memory.max", "1000\n");
  Write("sys/fs/cgroup/memory.current", "5\n");
  EXPECT_EQ(limit.Read(90, MemoryLimit::kFindNanos - 1).limit_bytes, 0u);
  EXPECT_EQ(limit.Read(90, MemoryLimit::kFindNanos).limit_bytes, 1000u);
}

}  // namespace
}  // namespace allomon::triggers

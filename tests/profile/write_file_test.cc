#include "tracker/formats/write_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/profile/golden_files.h"

namespace allomon {
namespace {

namespace fs = std::filesystem;

class WriteFileTest : public ::testing::Test {
 protected:
  // The error, or "" on success.
  std::string Write(const std::string& path, const std::string& contents, int mode = 0644) {
    std::string error;
    return WriteFileAtomically(path, contents, mode, &error) ? "" : error;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      files.push_back(entry.path().filename().string());
    }
    return files;
  }

  struct stat Status() const {
    struct stat status = {};
    EXPECT_EQ(stat(path_.c_str(), &status), 0);
    return status;
  }

  const std::string directory_ = testing::NewDirectory();
  const std::string path_ = directory_ + "/mlmon.out";
};

TEST_F(WriteFileTest, NothingButTheFileIsLeft) {
  EXPECT_EQ(Write(path_, "new"), "");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "new");
  EXPECT_EQ(Files(), std::vector<std::string>{"mlmon.out"});
}

TEST_F(WriteFileTest, ShorterContentsLeaveNoTail) {
  EXPECT_EQ(Write(path_, std::string(100000, 'x')), "");
  EXPECT_EQ(Write(path_, "short"), "");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "short");
  EXPECT_EQ(Write(path_, ""), "");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "");
}

TEST_F(WriteFileTest, ModeIsSubjectToTheUmask) {
  const mode_t old_mask = umask(027);
  EXPECT_EQ(Write(path_, "#!/bin/sh\n", 0755), "");
  umask(old_mask);
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750u);
}

TEST_F(WriteFileTest, EqualContentsKeepTheFileAndRenewItsTime) {
  ASSERT_EQ(Write(path_, "same"), "");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), long_ago, 0), 0);
  const struct stat before = Status();
  EXPECT_EQ(Write(path_, "same"), "");
  EXPECT_EQ(Status().st_ino, before.st_ino);
  EXPECT_GT(Status().st_mtime, before.st_mtime);
  EXPECT_EQ(Write(path_, "fresh"), "");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "fresh");
}

// Another user could write to the file, so its contents may change after the comparison.
TEST_F(WriteFileTest, EqualContentsInAFileThatIsTooOpenAreReplaced) {
  ASSERT_EQ(Write(path_, "same"), "");
  ASSERT_EQ(chmod(path_.c_str(), 0666), 0);
  EXPECT_EQ(Write(path_, "same"), "");
  EXPECT_EQ(Status().st_mode & 022, 0u);
}

TEST_F(WriteFileTest, RelativePathAndNameOfMaximalLength) {
  const std::string old_directory = fs::current_path();
  fs::current_path(directory_);
  EXPECT_EQ(Write("mlmon.out", "a"), "");
  EXPECT_EQ(Write(std::string(255, 'n'), "b"), "");
  fs::current_path(old_directory);
  EXPECT_EQ(testing::ReadFileOrDie(path_), "a");
  EXPECT_EQ(testing::ReadFileOrDie(directory_ + "/" + std::string(255, 'n')), "b");
}

// A pair must not end up as one new and one old file if the second cannot be written.
TEST_F(WriteFileTest, FilesThatBelongTogetherAreReplacedTogetherOrNotAtAll) {
  ASSERT_EQ(Write(path_, "old"), "");
  std::string error;
  const std::string missing = directory_ + "/missing/b";
  EXPECT_FALSE(WriteFilesAtomically({{path_, "new", 0644}, {missing, "b", 0644}}, &error));
  EXPECT_NE(error.find(missing), std::string::npos);
  EXPECT_EQ(testing::ReadFileOrDie(path_), "old");
  EXPECT_EQ(Files(), std::vector<std::string>{"mlmon.out"});
  EXPECT_TRUE(WriteFilesAtomically({{path_, "new", 0644}, {directory_ + "/b", "b", 0644}}, &error));
  EXPECT_EQ(testing::ReadFileOrDie(path_), "new");
  EXPECT_EQ(Files().size(), 2u);
}

TEST_F(WriteFileTest, MissingDirectory) {
  const std::string path = directory_ + "/missing/mlmon.out";
  EXPECT_EQ(Write(path, "x"), "cannot write " + path +
                                  ": No such file or directory; create the directory or choose "
                                  "another output");
}

TEST_F(WriteFileTest, PathThroughAFile) {
  ASSERT_EQ(Write(path_, "old"), "");
  const std::string path = path_ + "/x";
  EXPECT_EQ(Write(path, "x"), "cannot write " + path +
                                  ": Not a directory; part of the path is a file, choose "
                                  "another output");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "old");
}

TEST_F(WriteFileTest, PathOfADirectory) {
  EXPECT_EQ(Write(directory_, "x"), "cannot write " + directory_ +
                                        ": Is a directory; it is a directory, choose a file in it");
}

TEST_F(WriteFileTest, ErrorIsOneLineWhateverThePath) {
  const std::string error = Write(directory_ + "/a\nb/c", "x");
  EXPECT_NE(error, "");
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST_F(WriteFileTest, FullDevice) {
  EXPECT_EQ(Write("/dev/full", "x"),
            "cannot write /dev/full: No space left on device; make room or "
            "choose another output");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// The limit on the size of files stands in for a disk that fills up half way.
TEST_F(WriteFileTest, OldFileSurvivesADiskThatFillsUp) {
  ASSERT_EQ(Write(path_, "old"), "");
  signal(SIGXFSZ, SIG_IGN);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 10000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = Write(path_, std::string(100000, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(error, "cannot write " + path_ +
                       ": File too large; make room or choose another "
                       "output");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "old");
  EXPECT_EQ(Files(), std::vector<std::string>{"mlmon.out"});
}

// In a directory that other users may write to, they may have made the link.
TEST_F(WriteFileTest, LinkIsReplacedAndWhereItLedIsLeftAlone) {
  const std::string target = directory_ + "/target";
  ASSERT_EQ(Write(target, "old"), "");
  fs::create_symlink(target, path_);
  EXPECT_EQ(Write(path_, "new"), "");
  EXPECT_FALSE(fs::is_symlink(path_));
  EXPECT_EQ(testing::ReadFileOrDie(path_), "new");
  EXPECT_EQ(testing::ReadFileOrDie(target), "old");
}

TEST_F(WriteFileTest, LinkToNothingYetCreatesNothingThere) {
  fs::create_symlink(directory_ + "/target", path_);
  EXPECT_EQ(Write(path_, "new"), "");
  EXPECT_EQ(testing::ReadFileOrDie(path_), "new");
  EXPECT_FALSE(fs::exists(directory_ + "/target"));
}

// Replacing the file would take the output away from the user's redirection.
TEST_F(WriteFileTest, OpenDescriptorIsWrittenToNotReplaced) {
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(write(fd, "before ", 7), 7);
  EXPECT_EQ(Write("/dev/fd/" + std::to_string(fd), "through"), "");
  close(fd);
  EXPECT_EQ(testing::ReadFileOrDie(path_), "before through");
}

// open() of a pipe waits for its reader: at the end of a program that would be for ever.
TEST_F(WriteFileTest, NamedPipeWithoutAReaderIsAnError) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Write(path_, "x"), "cannot write " + path_ +
                                   ": No such device or address; nobody reads this pipe, start "
                                   "its reader first");
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(Write(path_, "x"), "");
  char got = 0;
  EXPECT_EQ(read(reader, &got, 1), 1);
  close(reader);
}

// More than a pipe holds, so that writes are cut short.
TEST_F(WriteFileTest, PipeTakesShortWrites) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string contents(1 << 20, 'p');
  std::string got;
  std::thread reader([&] {
    char buffer[4096];
    ssize_t size;
    while ((size = read(ends[0], buffer, sizeof buffer)) > 0) {
      got.append(buffer, size);
    }
  });
  EXPECT_EQ(Write("/dev/fd/" + std::to_string(ends[1]), contents), "");
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(got, contents);
}

TEST_F(WriteFileTest, ConcurrentWritersLeaveOneWholeFile) {
  std::vector<std::thread> writers;
  for (char c = 'a'; c < 'e'; ++c) {
    writers.emplace_back([this, c] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(Write(path_, std::string(50000, c)), "");
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string contents = testing::ReadFileOrDie(path_);
  EXPECT_EQ(contents, std::string(50000, contents[0]));
  EXPECT_EQ(Files(), std::vector<std::string>{"mlmon.out"});
}

}  // namespace
}  // namespace allomon

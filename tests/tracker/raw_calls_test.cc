#include "tracker/base/sys/raw_calls.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "tracker/base/own_memory.h"

namespace {

int g_unmappings_of_the_host = 0;

}  // namespace

// A host's own.
extern "C" int munmap(void* pages, size_t size_bytes) noexcept {
  ++g_unmappings_of_the_host;
  return static_cast<int>(syscall(SYS_munmap, pages, size_bytes));
}

namespace allomon::internal::sys {
namespace {

std::string NewPath(const char* name) {
  const char* const folder = getenv("TEST_TMPDIR");
  return std::string(folder == nullptr ? "/tmp" : folder) + "/" + name;
}

TEST(RawCalls, FailuresAreNumbersAndErrnoStays) {
  errno = ERANGE;
  char text[16];
  struct stat status;
  EXPECT_EQ(Open("/nowhere/at/all", O_RDONLY | O_CLOEXEC), -ENOENT);
  EXPECT_EQ(Close(-1), -EBADF);
  EXPECT_EQ(Read(-1, text, sizeof(text)), -EBADF);
  EXPECT_EQ(Pread(-1, text, sizeof(text), 0), -EBADF);
  EXPECT_EQ(Write(-1, text, sizeof(text)), -EBADF);
  EXPECT_EQ(Pwrite(-1, text, sizeof(text), 0), -EBADF);
  EXPECT_EQ(Fcntl(-1, F_GETFL), -EBADF);
  EXPECT_EQ(Fsync(-1), -EBADF);
  EXPECT_EQ(Fstat(-1, &status), -EBADF);
  EXPECT_EQ(Lstat("/nowhere/at/all", &status), -ENOENT);
  EXPECT_EQ(Ftruncate(-1, 1), -EBADF);
  EXPECT_EQ(Fallocate(-1, 0, 1), -EBADF);
  EXPECT_EQ(Unlink("/nowhere/at/all"), -ENOENT);
  EXPECT_EQ(Rename("/nowhere/at/all", "/nowhere/else"), -ENOENT);
  EXPECT_EQ(Readlink("/nowhere/at/all", text, sizeof(text)), -ENOENT);
  EXPECT_EQ(Getcwd(text, 0), -ERANGE);
  EXPECT_EQ(Munmap(text, 0), -EINVAL);
  EXPECT_EQ(Nanosleep({0, -1}), -EINVAL);
  EXPECT_EQ(Kill(Getpid(), -1), -EINVAL);
  EXPECT_EQ(Prlimit(-1, nullptr, nullptr), -EINVAL);
  EXPECT_FALSE(IsAddress(Mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
  EXPECT_EQ(errno, ERANGE);
}

TEST(RawCalls, DoWhatTheCLibraryDoes) {
  const std::string path = NewPath("raw_calls");
  const std::string other = path + ".other";
  Unlink(path.c_str());
  const int fd = Open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(Fcntl(fd, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(Write(fd, "abcd", 4), 4);
  EXPECT_EQ(Pwrite(fd, "xy", 2, 1), 2);
  char text[8] = {};
  EXPECT_EQ(Pread(fd, text, sizeof(text), 1), 3);
  EXPECT_STREQ(text, "xyd");
  EXPECT_EQ(Fallocate(fd, 0, 10000), 0);
  struct stat by_us;
  struct stat by_library;
  ASSERT_EQ(Fstat(fd, &by_us), 0);
  ASSERT_EQ(fstat(fd, &by_library), 0);
  EXPECT_EQ(by_us.st_size, 10000);
  EXPECT_EQ(by_us.st_mode, by_library.st_mode);
  EXPECT_EQ(by_us.st_ino, by_library.st_ino);
  EXPECT_EQ(by_us.st_mtim.tv_nsec, by_library.st_mtim.tv_nsec);
  EXPECT_EQ(Ftruncate(fd, 4), 0);
  EXPECT_EQ(Fsync(fd), 0);
  EXPECT_EQ(Rename(path.c_str(), other.c_str()), 0);
  ASSERT_EQ(Lstat(other.c_str(), &by_us), 0);
  EXPECT_EQ(by_us.st_size, 4);
  EXPECT_EQ(Close(fd), 0);
  EXPECT_EQ(Unlink(other.c_str()), 0);
  EXPECT_EQ(Lstat(other.c_str(), &by_us), -ENOENT);
}

TEST(RawCalls, MemoryProcessAndFolder) {
  constexpr size_t kPage = 4096;
  void* const page =
      Mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(IsAddress(page));
  memset(page, 1, kPage);
  EXPECT_EQ(Mprotect(page, kPage, PROT_READ), 0);
  EXPECT_EQ(Madvise(page, kPage, MADV_DONTNEED), 0);
  EXPECT_EQ(*static_cast<char*>(page), 0);
  EXPECT_EQ(Munmap(page, kPage), 0);
  EXPECT_EQ(Getpid(), getpid());
  EXPECT_EQ(Getppid(), getppid());
  EXPECT_EQ(Gettid(), gettid());
  EXPECT_EQ(Kill(Getpid(), 0), 0);
  char ours[4096];
  char library[4096];
  const ssize_t length = Getcwd(ours, sizeof(ours));
  EXPECT_EQ(length, static_cast<ssize_t>(strlen(ours)) + 1);
  EXPECT_STREQ(ours, getcwd(library, sizeof(library)));
  EXPECT_EQ(Readlink("/proc/self/exe", ours, sizeof(ours)),
            readlink("/proc/self/exe", library, sizeof(library)));
  rlimit limit = {};
  EXPECT_EQ(Prlimit(RLIMIT_NOFILE, nullptr, &limit), 0);
  EXPECT_GT(limit.rlim_cur, 0U);
  SchedYield();
}

// A cancelled thread passes through all calls at which the C library would end it.
// What the host has not seen mapped, it does not see unmapped.
TEST(RawCalls, OwnMemoryPassesTheHostsFunctionsBy) {
  constexpr size_t kBytes = size_t{1} << 20;
  for (void* const pages : {OwnMemory::Map(kBytes), OwnMemory::MapForDense(kBytes)}) {
    ASSERT_NE(pages, nullptr);
    OwnMemory::Unmap(pages, kBytes);
  }
  EXPECT_EQ(g_unmappings_of_the_host, 0);
}

TEST(RawCalls, NoneIsACancellationPoint) {
  pthread_t thread;
  const auto body = [](void*) -> void* {
    pthread_cancel(pthread_self());
    char text[4] = {};
    const int fd = Open("/dev/null", O_RDWR | O_CLOEXEC);
    Read(fd, text, sizeof(text));
    Pread(fd, text, sizeof(text), 0);
    Write(fd, text, sizeof(text));
    Pwrite(fd, text, sizeof(text), 0);
    Fcntl(fd, F_GETFL);
    Fsync(fd);
    Nanosleep({0, 1});
    if (Close(fd) == 0) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    return const_cast<char*>("it came to its end");
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, body, nullptr), 0);
  void* result = nullptr;
  ASSERT_EQ(pthread_join(thread, &result), 0);
  EXPECT_NE(result, PTHREAD_CANCELED);
}

// A signal without SA_RESTART interrupts a wait, which is not resumed.
TEST(RawCalls, WaitThatASignalCutsShortEnds) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &action, nullptr), 0);
  const itimerval soon = {{0, 0}, {0, 20000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &soon, nullptr), 0);
  EXPECT_EQ(Nanosleep({60, 0}), -EINTR);
}

}  // namespace
}  // namespace allomon::internal::sys

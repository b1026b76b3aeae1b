// Replacements of the C library's functions by which a program ends at once or executes another
// one. (The C library's own functions, such as posix_spawn, make their system calls directly.)
#include "allocator/environment/auto_profile_ends.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <initializer_list>

#include "tracker/base/check.h"
#include "tracker/base/sys/raw_calls.h"
#include "tracker/heap_client.h"

// A static program has no next execvpe to look up.  The C library's archive has the same function
// under this name, which the shared C library does not show.
extern "C" int __execvpe(const char*, char* const*, char* const*) __attribute__((weak));

namespace {

using allomon::FrameState;
namespace sys = allomon::internal::sys;

// Writes the profile before a program is executed, and discards the file if the execution failed.
class ExecScope {
 public:
  ExecScope(const char* path, const FrameState& caller)
      : written_(allomon::internal::WriteBeforeExec(path, caller)) {}
  ~ExecScope() {
    if (written_) allomon::internal::ForgetExec();
  }
  ExecScope(const ExecScope&) = delete;
  ExecScope& operator=(const ExecScope&) = delete;

 private:
  const bool written_;
};

// The C library implements the search of PATH, and the treatment of a file without header.
using Execvpe = int (*)(const char*, char* const*, char* const*);
using Fexecve = int (*)(int, char* const*, char* const*);
Execvpe g_next_execvpe = nullptr;
Fexecve g_next_fexecve = nullptr;

// A weak reference takes no member out of an archive.  The C library's posix_spawn searches PATH by
// that function, so that the member is linked.
[[maybe_unused]] __attribute__((used)) constexpr auto kLinksExecvpe = &posix_spawn;

// The C library's begins with the same call.  It goes on by /proc on kernels before 3.19, which
// have no such call.
int ExecuteDescriptor(int fd, char* const* arguments, char* const* environment) {
  return static_cast<int>(syscall(SYS_execveat, fd, "", arguments, environment, AT_EMPTY_PATH));
}

// Looked up before main, because dlsym() may not be called after vfork.
__attribute__((constructor)) void FindNext() {
  if (__execvpe != nullptr) {
    g_next_execvpe = &__execvpe;
    g_next_fexecve = &ExecuteDescriptor;
    return;
  }
  g_next_execvpe = reinterpret_cast<Execvpe>(dlsym(RTLD_NEXT, "execvpe"));
  g_next_fexecve = reinterpret_cast<Fexecve>(dlsym(RTLD_NEXT, "fexecve"));
}

int FailWith(int error) {
  errno = error;
  return -1;
}

int Execute(const char* path, char* const* arguments, char* const* environment,
            const FrameState& caller) {
  const ExecScope scope(path, caller);
  return static_cast<int>(syscall(SYS_execve, path, arguments, environment));
}

int ExecuteFromPath(const char* file, char* const* arguments, char* const* environment,
                    const FrameState& caller) {
  if (g_next_execvpe == nullptr) FindNext();
  if (g_next_execvpe == nullptr) return FailWith(ENOSYS);
  const ExecScope scope(nullptr, caller);
  return g_next_execvpe(file, arguments, environment);
}

[[noreturn]] void EndAtOnce(int status, const FrameState& caller) {
  allomon::internal::WriteBeforeQuickEnd(caller);
  for (;;) syscall(SYS_exit_group, status);
}

// In an image without devices, /dev/null may be an ordinary file.
bool IsNull(int fd) {
  struct stat file = {};
  return sys::Fstat(fd, &file) == 0 && S_ISCHR(file.st_mode) && file.st_rdev == makedev(1, 3);
}

// Contains no cancellation points, as in the C library.
int OpenNullAsStreams() {
  const int fd = sys::Open("/dev/null", O_RDWR);
  if (fd < 0) return FailWith(-fd);
  const bool is_null = IsNull(fd);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (is_null) dup2(fd, stream);
  }
  if (fd > STDERR_FILENO || !is_null) sys::Close(fd);
  return is_null ? 0 : FailWith(ENODEV);
}

// Works like the C library's daemon(), in which the parent ends by a direct system call.
int BecomeDaemon(bool keeps_folder, bool keeps_streams, const FrameState& caller) {
  const bool written = allomon::internal::WriteBeforeExec(nullptr, caller);
  const pid_t child = allomon::internal::ForkDaemon();
  if (child < 0 && written) allomon::internal::ForgetExec();
  if (child < 0) return -1;
  // NOLINTNEXTLINE(bugprone-infinite-loop): the call does not return.
  while (child > 0) syscall(SYS_exit_group, 0);
  if (setsid() == -1) return -1;
  if (!keeps_folder) static_cast<void>(!chdir("/"));
  return keeps_streams ? 0 : OpenNullAsStreams();
}

// Returns the number of arguments, including the first and the null pointer.
size_t CountArguments(va_list rest) {
  size_t count = 1;
  while (va_arg(rest, const char*) != nullptr) ++count;
  return count + 1;
}

void CopyArguments(const char* first, va_list rest, size_t count, char** arguments) {
  arguments[0] = const_cast<char*>(first);
  for (size_t i = 1; i < count; ++i) arguments[i] = va_arg(rest, char*);
  ALLOMON_DCHECK_EQ("inv.environment.exec", arguments[count - 1], nullptr);
}

}  // namespace

#define ALLOMON_EXPORT __attribute__((visibility("default"), noinline))

// Copies the arguments of execl and its variants into an array on the stack.  Leaves `rest` after
// the null pointer.
#define ALLOMON_ARGUMENTS(first, rest)                                                   \
  va_list counted;                                                                       \
  va_start(rest, first);                                                                 \
  va_copy(counted, rest);                                                                \
  const size_t count = CountArguments(counted);                                          \
  va_end(counted);                                                                       \
  char** const arguments = static_cast<char**>(__builtin_alloca(count * sizeof(char*))); \
  CopyArguments(first, rest, count, arguments)

extern "C" {

ALLOMON_EXPORT __attribute__((noreturn)) void _exit(int status) {
  EndAtOnce(status, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT __attribute__((noreturn)) void _Exit(int status) noexcept {
  EndAtOnce(status, ALLOMON_CALLER_FRAME());
}

ALLOMON_EXPORT int execve(const char* path, char* const arguments[],
                          char* const environment[]) noexcept {
  return Execute(path, arguments, environment, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int execv(const char* path, char* const arguments[]) noexcept {
  return Execute(path, arguments, environ, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int execvp(const char* file, char* const arguments[]) noexcept {
  return ExecuteFromPath(file, arguments, environ, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int execvpe(const char* file, char* const arguments[],
                           char* const environment[]) noexcept {
  return ExecuteFromPath(file, arguments, environment, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int fexecve(int fd, char* const arguments[], char* const environment[]) noexcept {
  if (g_next_fexecve == nullptr) FindNext();
  if (g_next_fexecve == nullptr) return FailWith(ENOSYS);
  const ExecScope scope(nullptr, ALLOMON_CALLER_FRAME());
  return g_next_fexecve(fd, arguments, environment);
}

ALLOMON_EXPORT int daemon(int keeps_folder, int keeps_streams) noexcept {
  return BecomeDaemon(keeps_folder != 0, keeps_streams != 0, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int chroot(const char* path) noexcept {
  allomon::internal::PrepareForNewRoot();
  return static_cast<int>(syscall(SYS_chroot, path));
}

ALLOMON_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list rest;
  ALLOMON_ARGUMENTS(first, rest);
  va_end(rest);
  return Execute(path, arguments, environ, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list rest;
  ALLOMON_ARGUMENTS(first, rest);
  va_end(rest);
  return ExecuteFromPath(file, arguments, environ, ALLOMON_CALLER_FRAME());
}
ALLOMON_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list rest;
  ALLOMON_ARGUMENTS(first, rest);
  char* const* const environment = va_arg(rest, char* const*);
  va_end(rest);
  return Execute(path, arguments, environment, ALLOMON_CALLER_FRAME());
}

}  // extern "C"

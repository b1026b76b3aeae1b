#include "tools/mlmon/ask_sources.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

extern char** environ;

namespace allomon::mlprof {
namespace {

// A pipe.  Both of its ends are closed by exec and by the destructor.
class Pipe {
 public:
  Pipe() { valid_ = pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool valid() const { return valid_; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseReader() { CloseEnd(0); }
  void CloseWriter() { CloseEnd(1); }

 private:
  void CloseEnd(int end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }

  int ends_[2] = {-1, -1};
  bool valid_;
};

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

void Reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// MLton's runtime looks at argv[1] and argv[2] only.
bool Spawn(const std::string& path, const Pipe& in, const Pipe& out, pid_t* child) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return false;
  posix_spawn_file_actions_adddup2(&actions, in.reader(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  std::string args[] = {path, "@MLton", "show-sources"};
  char* argv[] = {args[0].data(), args[1].data(), args[2].data(), nullptr};
  const int error = posix_spawn(child, path.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0;
}

// A name without a slash means the file in the current directory.  Exec would search PATH for it.
std::string AbsolutePath(const std::string& path) {
  if (!path.empty() && path[0] == '/') return path;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

std::string AskSources(const std::string& executable) {
  Pipe in, out;
  pid_t child = 0;
  if (!in.valid() || !out.valid() || !Spawn(AbsolutePath(executable), in, out, &child)) {
    return "";
  }
  // Closes this process's copy of the writing end.  A child that reads its standard input would
  // otherwise wait for this process, while this process waits for the child.
  in.CloseWriter();
  out.CloseWriter();
  std::string answer = ReadToEnd(out.reader());
  // Closes the reading end after a failed read: a child that still writes gets SIGPIPE and does not
  // wait.
  out.CloseReader();
  Reap(child);
  return answer;
}

}  // namespace allomon::mlprof

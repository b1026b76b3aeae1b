#include "tools/mlmon/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "tools/symbols/code_file.h"

extern char** environ;

namespace allomon::mlprof {
namespace {

bool UserError(const std::string& file, const char* what, std::string* error) {
  *error = "Error: executable '" + file + "' " + what + ".";
  return false;
}

// Replaces a name by its part after the last dot that has something after it.  A name that consists
// of dots stays.
void Shorten(SourceName* name) {
  // Names without a position are those of the runtime, and have no long form.
  if (name->position.empty()) return;
  const size_t end = name->name.find_last_not_of('.');
  if (end == std::string::npos) return;
  const size_t dot = name->name.rfind('.', end);
  const size_t start = dot == std::string::npos ? 0 : dot + 1;
  name->name = name->name.substr(start, end + 1 - start);
}

}  // namespace

std::string FullName(const SourceName& name) {
  return name.position.empty() ? name.name : name.name + "  " + name.position;
}

bool LoadProgram(const std::string& file, bool long_names, const std::vector<Regexp>& split,
                 Program* program, std::string* error) {
  if (access(file.c_str(), F_OK) != 0) {
    return UserError(file, "does not exist", error);
  }
  if (access(file.c_str(), X_OK) != 0) {
    return UserError(file, "does not run", error);
  }
  return ProgramFromAnswer(file, AskSources(file), long_names, split, program, error);
}

bool ProgramFromAnswer(const std::string& file, std::string_view answer, bool long_names,
                       const std::vector<Regexp>& split, Program* program, std::string* error) {
  program->file = file;
  program->is_split.clear();
  if (!ParseSources(answer, &program->table, error)) return false;
  if (program->table.names.empty()) {
    return UserError(file, "is not compiled for profiling", error);
  }
  for (SourceName& name : program->table.names) {
    name.name = DemangledForeign(name.name);  // demangled here, not in the process, because
                                              // demanglers are large
    if (!long_names) Shorten(&name);
    const std::string full_name = FullName(name);
    program->is_split.push_back(std::any_of(split.begin(), split.end(), [&](const Regexp& regexp) {
      return regexp.MatchesPrefix(full_name);
    }));
  }
  return true;
}

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

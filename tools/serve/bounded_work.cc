#include "tools/serve/bounded_work.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace allomon::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLooksMilliseconds = 50;  // between two checks of `is_cancelled`
constexpr int kNoMemory = 77;           // exit status of the child

void Append(std::string_view text, std::string* to) {
  const uint64_t size = text.size();
  to->append(reinterpret_cast<const char*>(&size), sizeof size);
  to->append(text);
}

// Packs a reply into bytes, for a pipe between processes of one program.
std::string Packed(const Reply& reply) {
  std::string packed;
  Append(std::to_string(reply.status), &packed);
  Append(reply.type, &packed);
  Append(reply.body == nullptr ? std::string_view() : *reply.body, &packed);
  for (const auto& [name, value] : reply.headers) {
    Append(name, &packed);
    Append(value, &packed);
  }
  return packed;
}

// Reads the texts of Packed(), one after another.
class Unpacker {
 public:
  explicit Unpacker(std::string_view packed) : rest_(packed) {}

  bool AtEnd() const { return rest_.empty(); }
  bool Next(std::string* text) {
    uint64_t size = 0;
    if (rest_.size() < sizeof size) return false;
    memcpy(&size, rest_.data(), sizeof size);
    rest_.remove_prefix(sizeof size);
    if (rest_.size() < size) return false;
    *text = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

 private:
  std::string_view rest_;
};

bool Unpack(std::string_view packed, Reply* reply) {
  Unpacker texts(packed);
  std::string status;
  std::string body;
  if (!texts.Next(&status) || !texts.Next(&reply->type) || !texts.Next(&body)) return false;
  reply->status = atoi(status.c_str());
  reply->body = std::make_shared<const std::string>(std::move(body));
  while (!texts.AtEnd()) {
    auto& [name, value] = reply->headers.emplace_back();
    if (!texts.Next(&name) || !texts.Next(&value)) return false;
  }
  return reply->status != 0;
}

size_t MappedBytes() {
  size_t pages = 0;
  if (FILE* const file = fopen("/proc/self/statm", "re")) {
    if (fscanf(file, "%zu", &pages) != 1) pages = 0;
    fclose(file);
  }
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void LimitMemory(size_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, MappedBytes() + bytes);
  setrlimit(RLIMIT_AS, &limit);
}

// Closes inherited descriptors except 0 to 2.  A client's connection would stay open as long as the
// child has it.
void CloseAllBut(int kept) {
  constexpr unsigned kFirst = 3;
  const auto fd = static_cast<unsigned>(kept);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, fd + 1, ~0U, 0) == 0 &&
      (fd == kFirst || syscall(SYS_close_range, kFirst, fd - 1, 0) == 0)) {
    return;
  }
#endif
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  for (unsigned i = kFirst; i < limit.rlim_cur; ++i) {
    if (i != fd) close(static_cast<int>(i));
  }
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

[[noreturn]] void RunChild(const std::function<Reply()>& make, const WorkLimits& limits, int out,
                           pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before prctl()
  CloseAllBut(out);
  LimitMemory(limits.memory_bytes);
  try {
    _exit(WriteAll(out, Packed(make())) ? 0 : 1);
  } catch (const std::bad_alloc&) {
    _exit(kNoMemory);
  } catch (const std::exception&) {
    _exit(1);
  }
}

std::string Seconds(std::chrono::milliseconds time) {
  return std::to_string((time.count() + 999) / 1000) + " s";
}

// Owns a child and the end of its pipe.
class Child {
 public:
  Child(pid_t pid, int from) : pid_(pid), from_(from) {}
  ~Child() {
    close(from_);
    if (pid_ > 0) End();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits for bytes for a moment, and appends them.  False when the pipe is at its end.
  bool Receive(std::string* bytes) {
    pollfd polled = {from_, POLLIN, 0};
    if (poll(&polled, 1, kLooksMilliseconds) <= 0) return true;
    char chunk[65536];
    const ssize_t got = read(from_, chunk, sizeof chunk);
    if (got > 0) bytes->append(chunk, static_cast<size_t>(got));
    return got > 0 || (got < 0 && errno == EINTR);
  }

  // Waits for the child's end.  Returns its status, as waitpid() has it.
  int Wait() {
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  void End() {
    kill(pid_, SIGKILL);
    Wait();
  }

  pid_t pid_;
  const int from_;
};

Reply TooLarge(const WorkLimits& limits) {
  return TextReply(503, "the answer needs more than " + std::to_string(limits.memory_bytes >> 20) +
                            " MiB: choose a process, or read the recording by allomon report");
}

Reply Failed(int status, const WorkLimits& limits) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoMemory) return TooLarge(limits);
  return TextReply(500, WIFSIGNALED(status) ? "the making of the answer was ended by signal " +
                                                  std::to_string(WTERMSIG(status))
                                            : "the answer could not be made");
}

}  // namespace

Reply MakeBounded(const std::function<Reply()>& make, const WorkLimits& limits,
                  const std::atomic<bool>* is_cancelled) {
  const auto deadline = Clock::now() + limits.time;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return TextReply(503, "no descriptors are left");
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid == 0) RunChild(make, limits, ends[1], self);
  close(ends[1]);
  Child child(pid, ends[0]);
  if (pid < 0) return TextReply(503, "no process can be made for the answer");
  std::string bytes;
  while (child.Receive(&bytes)) {
    if (is_cancelled != nullptr && is_cancelled->load(std::memory_order_relaxed)) throw Cancelled();
    if (bytes.size() > limits.memory_bytes / 4) return TooLarge(limits);
    if (Clock::now() < deadline) continue;
    return TextReply(503, "the answer takes more than " + Seconds(limits.time) +
                              ": choose a process, or read the recording by allomon report");
  }
  const int status = child.Wait();
  Reply reply;
  return status == 0 && Unpack(bytes, &reply) ? reply : Failed(status, limits);
}

}  // namespace allomon::serve

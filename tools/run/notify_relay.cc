#include "tools/run/notify_relay.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "absl/status/status.h"

namespace allomon::run {
namespace {

constexpr int kMostLastWaits = 100;
constexpr timespec kLastWait = {0, 10'000'000};

// False unless `name` is an address of a unix socket: a path, or '@' and an abstract name.
bool ParseAddress(std::string_view name, sockaddr_un* address, socklen_t* size_bytes) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (name.size() < 2 || name.size() >= sizeof(address->sun_path)) return false;
  if (name[0] != '/' && name[0] != '@') return false;
  memcpy(address->sun_path, name.data(), name.size());
  const size_t end = name[0] == '/' ? 1 : 0;
  if (name[0] == '@') address->sun_path[0] = '\0';
  *size_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + end);
  return true;
}

std::string RandomAddress() {
  uint64_t random[2] = {};
  (void)!getrandom(random, sizeof(random), 0);
  char name[64];
  snprintf(name, sizeof(name), "@allomon-run-notify-%016" PRIx64 "%016" PRIx64, random[0],
           random[1]);
  return name;
}

bool BindForSignals(int fd, const std::string& name) {
  sockaddr_un address;
  socklen_t size_bytes = 0;
  return ParseAddress(name, &address, &size_bytes) &&
         bind(fd, reinterpret_cast<const sockaddr*>(&address), size_bytes) == 0 &&
         fcntl(fd, F_SETOWN, getpid()) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) == 0;
}

// Removes the lines that name a main process (MAINPID=, MAINPIDFDID=, MAINPIDFD=).  Returns the
// remaining size.
size_t RemoveMainProcess(char* text, size_t size_bytes) {
  size_t kept = 0;
  for (size_t begin = 0; begin < size_bytes;) {
    const void* const newline = memchr(text + begin, '\n', size_bytes - begin);
    const size_t end = newline == nullptr
                           ? size_bytes
                           : static_cast<size_t>(static_cast<const char*>(newline) - text) + 1;
    if (std::string_view(text + begin, end - begin).substr(0, 7) != "MAINPID") {
      memmove(text + kept, text + begin, end - begin);
      kept += end - begin;
    }
    begin = end;
  }
  return kept;
}

// Calls visit(first, count) for the descriptors that came with a message.
template <typename Visit>
void ForDescriptors(msghdr* message, Visit visit) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr; part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    visit(reinterpret_cast<const int*>(CMSG_DATA(part)),
          (part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<NotifyRelay>> NotifyRelay::OfEnvironment() {
  const char* const name = getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return nullptr;
  Target target;
  if (!ParseAddress(name, &target.address, &target.size_bytes)) {
    return absl::InvalidArgumentError(std::string("NOTIFY_SOCKET is no address of a socket: ") +
                                      name);
  }
  const int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  std::string address = RandomAddress();
  auto relay = std::unique_ptr<NotifyRelay>(new NotifyRelay(from, to, target, address));
  if (from < 0 || to < 0 || !BindForSignals(from, address)) {
    return absl::InternalError(std::string("cannot pass on notifications: ") + strerror(errno));
  }
  return relay;
}

// Clears a pending SIGIO: children of the program may still send, and the signal would end this
// process once it is unblocked.
NotifyRelay::~NotifyRelay() {
  if (from_ >= 0) close(from_);
  if (to_ >= 0) close(to_);
  sigset_t arrived;
  sigemptyset(&arrived);
  sigaddset(&arrived, SIGIO);
  const timespec now = {0, 0};
  while (sigtimedwait(&arrived, nullptr, &now) > 0) {
  }
}

void NotifyRelay::Forward() {
  while ((is_holding_ || Receive()) && Send()) {
  }
}

void NotifyRelay::ForwardLast() {
  Forward();
  for (int i = 0; i < kMostLastWaits && is_holding_; ++i) {
    nanosleep(&kLastWait, nullptr);
    Forward();
  }
}

// Returns false if no message has arrived.
bool NotifyRelay::Receive() {
  iovec bytes = {text_, sizeof(text_)};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control_;
  message.msg_controllen = sizeof(control_);
  ssize_t got = 0;
  do {
    got = recvmsg(from_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return false;
  const size_t received = static_cast<size_t>(got);
  held_bytes_ = RemoveMainProcess(text_, received);
  held_control_bytes_ = message.msg_controllen;
  is_holding_ = held_bytes_ > 0 || received == 0;
  if (!is_holding_) CloseDescriptors();
  return true;
}

// Returns false if the manager has no room for the message, which is then held.  A message that it
// does not take for another reason is lost, as it would be for the program.
bool NotifyRelay::Send() {
  if (!is_holding_) return true;
  sockaddr_un address = target_.address;
  iovec bytes = {text_, held_bytes_};
  msghdr message = {};
  message.msg_name = &address;
  message.msg_namelen = target_.size_bytes;
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control_;
  message.msg_controllen = held_control_bytes_;
  ssize_t sent = 0;
  do {
    sent = sendmsg(to_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN) return false;
  is_holding_ = false;
  CloseDescriptors();
  return true;
}

void NotifyRelay::CloseDescriptors() {
  msghdr message = {};
  message.msg_control = control_;
  message.msg_controllen = held_control_bytes_;
  ForDescriptors(&message, [](const int* first, size_t count) {
    for (size_t i = 0; i < count; ++i) close(first[i]);
  });
}

}  // namespace allomon::run

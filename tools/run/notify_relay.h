// Relays the program's notifications to the service manager.
//
// Unless the unit says otherwise, systemd takes notifications from the service's main process
// alone, and that is `allomon run`.  So the program is given a socket of this process, which
// forwards the messages with their descriptors.  Lines that name another main process are removed:
// the manager must wait for `allomon run`, which ends after the program and with its status.
//
// A message for which the manager has no room is held, and no other is received meanwhile: so the
// program waits in its call, as it would if it sent to the manager itself.
//
// Not thread-safe.
#ifndef ALLOMON_TOOLS_RUN_NOTIFY_RELAY_H_
#define ALLOMON_TOOLS_RUN_NOTIFY_RELAY_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace allomon::run {

class NotifyRelay {
 public:
  // Returns null if the environment names no socket.  The process gets SIGIO when a message has
  // arrived.  Callers keep SIGIO blocked for as long as the relay lives; no SIGIO is pending
  // afterwards.  An error if the manager's address is not valid, or if no socket can be made.
  static absl::StatusOr<std::unique_ptr<NotifyRelay>> OfEnvironment();
  ~NotifyRelay();
  NotifyRelay(const NotifyRelay&) = delete;
  NotifyRelay& operator=(const NotifyRelay&) = delete;

  // The program's NOTIFY_SOCKET.  It is an abstract address, which needs no folder, and has a
  // random part, because every process in the network namespace may send to it.
  const std::string& Address() const { return address_; }

  // Forwards all messages that have arrived.  If one is held, no signal tells when there is room:
  // callers call again soon.
  void Forward();
  bool IsHolding() const { return is_holding_; }
  // The same when the program has ended.  Waits for room, at most a second.
  void ForwardLast();

 private:
  struct Target {
    sockaddr_un address;
    socklen_t size_bytes;
  };
  NotifyRelay(int from, int to, const Target& target, std::string address)
      : from_(from), to_(to), target_(target), address_(std::move(address)) {}

  bool Receive();
  bool Send();
  void CloseDescriptors();

  static constexpr size_t kMostBytes = 65536;      // systemd reads 4096
  static constexpr size_t kMostDescriptors = 253;  // in one message: SCM_MAX_FD of Linux

  const int from_;
  const int to_;
  const Target target_;
  const std::string address_;
  // The message that was received last, and whether it is still to be sent.
  bool is_holding_ = false;
  size_t held_bytes_ = 0;
  size_t held_control_bytes_ = 0;
  char text_[kMostBytes];
  alignas(cmsghdr) char control_[CMSG_SPACE(kMostDescriptors * sizeof(int))];
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_NOTIFY_RELAY_H_

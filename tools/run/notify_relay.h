// The service manager's notification socket for a program that `allomon run` starts.
//
// systemd takes notifications from the service's main process alone, unless the unit says
// otherwise, and that is `allomon run`.  So the program is given a socket of this process's own,
// and what arrives there is sent on, with its descriptors.  Lines that name another main process
// are left out: the manager is to wait for `allomon run`, which ends after the program and with its
// status.
//
// Not thread-safe.  Never waits: what the manager has no room for is lost, as it would be for the
// program.
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
  // Null if the environment names no socket.  The process gets SIGIO when something has arrived: it
  // is blocked for as long as the relay lives, and none is pending afterwards.
  // An error if the manager's address is none, or no socket can be made.
  static absl::StatusOr<std::unique_ptr<NotifyRelay>> OfEnvironment();
  ~NotifyRelay();
  NotifyRelay(const NotifyRelay&) = delete;
  NotifyRelay& operator=(const NotifyRelay&) = delete;

  // The program's NOTIFY_SOCKET: an abstract address, so that it needs no folder, and with a random
  // part, since anybody in the network namespace may send to it.
  const std::string& Address() const { return address_; }

  // Sends on all that has arrived.
  void Forward();

 private:
  struct Target {
    sockaddr_un address;
    socklen_t size_bytes;
  };
  NotifyRelay(int from, int to, const Target& target, std::string address)
      : from_(from), to_(to), target_(target), address_(std::move(address)) {}

  bool ForwardOne();

  const int from_;
  const int to_;
  const Target target_;
  const std::string address_;
};

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_NOTIFY_RELAY_H_

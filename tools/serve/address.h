// The address that is listened on.
#ifndef ALLOMON_TOOLS_SERVE_ADDRESS_H_
#define ALLOMON_TOOLS_SERVE_ADDRESS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace allomon::serve {

struct Address {
  std::string host;  // an address of IPv4 or IPv6, without brackets
  std::string port;

  bool is_ipv6() const { return host.find(':') != std::string::npos; }
  std::string Text() const { return (is_ipv6() ? "[" + host + "]" : host) + ":" + port; }
};

// "127.0.0.1:6060", "[::1]:6060", "localhost:6060" or ":6060", which is all addresses of IPv4.  No
// other name: nobody is asked.
absl::StatusOr<Address> ParseAddress(std::string_view text);

// Whether only this machine can reach it.
bool IsLoopback(const Address& address);

// A socket that listens there.  Fails with one line that names the address.
absl::StatusOr<int> Listen(const Address& address);
// Its own address: the port is known where 0 was asked for.
Address AddressOf(int listening);

// Whether a Host header is what a user of this machine writes, a number or localhost.  A name that
// somebody else's page gave this address is none (DNS rebinding).
bool IsLocalHost(std::string_view host_header);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_ADDRESS_H_

// The address on which the server listens.
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

// Parses "127.0.0.1:6060", "[::1]:6060", "localhost:6060" or ":6060", which is all addresses of
// IPv4.  Rejects other names, because no name server is asked.
absl::StatusOr<Address> ParseAddress(std::string_view text);

// True if only this machine can reach the address.
bool IsLoopback(const Address& address);

// Returns a socket that listens at the address.  Fails with one line that names the address.
absl::StatusOr<int> Listen(const Address& address);
// Returns the socket's own address: its port is known even if port 0 was asked for.
Address AddressOf(int listening);

// True if a Host header is what a user of this machine writes: a number or localhost.  Rejects
// names, because a page of somebody else may have given its name this address (DNS rebinding).
bool IsLocalHost(std::string_view host_header);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_ADDRESS_H_

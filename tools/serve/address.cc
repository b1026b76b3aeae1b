#include "tools/serve/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "tools/options/values.h"
#include "tools/serve/frame.h"

namespace allomon::serve {
namespace {

constexpr int kBacklog = 1024;

// An address in the kernel's form.
struct SocketAddress {
  sockaddr_storage bytes = {};
  socklen_t size = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

bool ParseHost(const std::string& host, in_addr* ipv4) {
  return inet_pton(AF_INET, host.c_str(), ipv4) == 1;
}
bool ParseHost(const std::string& host, in6_addr* ipv6) {
  return inet_pton(AF_INET6, host.c_str(), ipv6) == 1;
}

bool IsNumeric(const std::string& host) {
  in_addr ipv4;
  in6_addr ipv6;
  return ParseHost(host, &ipv4) || ParseHost(host, &ipv6);
}

uint16_t PortOf(const Address& address) {
  uint16_t port = 0;
  options::ParseNumber(address.port, &port);
  return htons(port);
}

SocketAddress KernelForm(const Address& address) {
  SocketAddress form;
  if (address.is_ipv6()) {
    auto* const ipv6 = reinterpret_cast<sockaddr_in6*>(&form.bytes);
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = PortOf(address);
    ParseHost(address.host, &ipv6->sin6_addr);
    form.size = sizeof *ipv6;
  } else {
    auto* const ipv4 = reinterpret_cast<sockaddr_in*>(&form.bytes);
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = PortOf(address);
    ParseHost(address.host, &ipv4->sin_addr);
    form.size = sizeof *ipv4;
  }
  return form;
}

absl::Status BadAddress(std::string_view text) {
  return absl::InvalidArgumentError("--listen: \"" + std::string(text) +
                                    "\" is not an address and a port, such as 127.0.0.1:6060 or "
                                    "[::1]:6060");
}

absl::Status CannotListen(const Address& address) {
  std::string line = "cannot listen on " + address.Text() + ": " + strerror(errno);
  if (errno == EADDRINUSE) line += "; choose another port by --listen";
  if (errno == EADDRNOTAVAIL) line += "; choose an address of this machine by --listen";
  if (errno == EACCES) line += "; choose a port from 1024 on by --listen";
  return absl::UnavailableError(line);
}

// Removes brackets from a host.
std::string_view Bare(std::string_view host) {
  const bool has_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  return has_brackets ? host.substr(1, host.size() - 2) : host;
}

// Returns the host of "host:port", "[host]:port", or of a host alone.
std::string_view HostOf(std::string_view text) {
  const size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.back() != ']' &&
                        (text.front() == '[' || text.find(':') == colon);
  return Bare(has_port ? text.substr(0, colon) : text);
}

}  // namespace

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return BadAddress(text);
  const std::string_view host = text.substr(0, colon);
  Address address;
  address.host = Bare(host);
  address.port = text.substr(colon + 1);
  if (host.empty()) address.host = "0.0.0.0";
  if (host == "localhost") address.host = "127.0.0.1";
  const bool has_brackets = address.host.size() != host.size() && host.size() > 1 && host[0] == '[';
  uint16_t port = 0;
  const bool is_good = IsNumeric(address.host) && address.is_ipv6() == has_brackets &&
                       options::ParseNumber(address.port, &port);
  if (!is_good) return BadAddress(text);
  return address;
}

bool IsLoopback(const Address& address) {
  in_addr ipv4;
  if (ParseHost(address.host, &ipv4)) return ntohl(ipv4.s_addr) >> 24 == 127;
  in6_addr ipv6;
  return ParseHost(address.host, &ipv6) && IN6_IS_ADDR_LOOPBACK(&ipv6);
}

absl::StatusOr<int> Listen(const Address& address) {
  SocketAddress form = KernelForm(address);
  const int fd = socket(form.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return CannotListen(address);
  const int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);  // connections of an earlier server
  if (bind(fd, form.get(), form.size) == 0 && listen(fd, kBacklog) == 0) return fd;
  const absl::Status status = CannotListen(address);
  close(fd);
  return status;
}

Address AddressOf(int listening) {
  SocketAddress form;
  form.size = sizeof form.bytes;
  Address address;
  if (getsockname(listening, form.get(), &form.size) != 0) return address;
  char text[INET6_ADDRSTRLEN] = "";
  if (form.bytes.ss_family == AF_INET6) {
    const auto* const ipv6 = reinterpret_cast<const sockaddr_in6*>(&form.bytes);
    inet_ntop(AF_INET6, &ipv6->sin6_addr, text, sizeof text);
    address.port = std::to_string(ntohs(ipv6->sin6_port));
  } else {
    const auto* const ipv4 = reinterpret_cast<const sockaddr_in*>(&form.bytes);
    inet_ntop(AF_INET, &ipv4->sin_addr, text, sizeof text);
    address.port = std::to_string(ntohs(ipv4->sin_port));
  }
  address.host = text;
  return address;
}

bool IsLocalHost(std::string_view host_header) {
  if (host_header.empty()) return true;  // HTTP/1.0, which browsers do not send
  const std::string host(HostOf(host_header));
  return EqualsInAnyCase(host, "localhost") || IsNumeric(host);
}

}  // namespace allomon::serve

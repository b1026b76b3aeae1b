#include "tools/serve/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>
#include <utility>

namespace allomon::serve {
namespace {

constexpr size_t kChunkBytes = size_t{4} << 10;
// Limits the input that is drained.  Closing a socket with unread input sends the client an error,
// and the response is lost.
constexpr size_t kMostDrainedBytes = size_t{256} << 10;

bool IsForLater(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

iovec PartOf(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

// Disables Nagle's algorithm: otherwise the end of a response would wait for the client's
// acknowledgement.
Connection::Connection(int fd, uint64_t id) : fd_(fd), id_(id) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Connection::~Connection() { close(fd_); }

short Connection::events() const {
  switch (state_) {
    case State::kReads:
    case State::kDrains:
      return POLLIN;
    case State::kSends:
      return POLLOUT;
    case State::kWaits:
      return is_closed_ ? 0 : POLLRDHUP;
    default:
      return 0;
  }
}

void Connection::Receive() {
  if (state_ == State::kDrains) return Drain();
  char chunk[kChunkBytes];
  const size_t room = kMostRequestBytes - std::min(kMostRequestBytes, input_.size());
  const ssize_t got = recv(fd_, chunk, std::min(room, sizeof chunk), 0);
  if (IsForLater(got)) return;
  if (got <= 0) return End();
  input_.append(chunk, static_cast<size_t>(got));
}

void Connection::Drain() {
  char chunk[kChunkBytes];
  const ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
  if (IsForLater(got)) return;
  if (got > 0) drained_ += static_cast<size_t>(got);
  if (got <= 0 || drained_ > kMostDrainedBytes) End();
}

std::string Connection::TakeRequest(const Frame& frame) {
  std::string request = input_.substr(0, frame.head_bytes + frame.body_bytes);
  input_.erase(0, request.size());
  state_ = State::kWaits;
  return request;
}

void Connection::Begin(Response response) {
  response_ = std::move(response);
  sent_ = 0;
  state_ = State::kSends;
  Send();
}

// Sends head and body in one packet, if they fit.
ssize_t Connection::SendSome() {
  const std::string_view head = response_.head;
  const std::string_view body = response_.body ? std::string_view(*response_.body) : "";
  const size_t of_head = std::min(sent_, head.size());
  iovec parts[] = {PartOf(head.substr(of_head)), PartOf(body.substr(sent_ - of_head))};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = std::size(parts);
  return sendmsg(fd_, &message, MSG_NOSIGNAL);
}

void Connection::Send() {
  while (sent_ < response_.size()) {
    const ssize_t sent = SendSome();
    if (IsForLater(sent)) return;
    if (sent < 0) return End();
    sent_ += static_cast<size_t>(sent);
  }
  AfterResponse();
}

void Connection::AfterResponse() {
  const bool closes = response_.close;
  response_ = {};
  state_ = closes ? State::kDrains : State::kReads;
  if (closes) shutdown(fd_, SHUT_WR);
}

}  // namespace allomon::serve

// g++ 12 with -fsanitize=address wrongly warns that states of std::regex, which the library uses,
// are not initialized (its bug 105562).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "tools/serve/http.h"

#include <httplib.h>

#include <algorithm>
#include <cstring>

#include "tools/serve/frame.h"

namespace allomon::serve {
namespace {

// A request in memory, and the text of its response.  Functions lack `override`, because later
// versions of the library need some that earlier ones do not have.
class MemoryStream : public httplib::Stream {
 public:
  explicit MemoryStream(std::string_view request) : rest_(request) {}

  // NOLINTBEGIN(modernize-use-override): a version may lack one of them.
  bool is_readable() const { return !rest_.empty(); }
  bool is_writable() const { return true; }
  bool wait_readable() const { return !rest_.empty(); }
  bool wait_writable() const { return true; }
  ssize_t read(char* to, size_t size) {
    const size_t count = std::min(size, rest_.size());
    memcpy(to, rest_.data(), count);
    rest_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* text, size_t size) {
    written_.append(text, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string&, int&) const {}
  void get_local_ip_and_port(std::string&, int&) const {}
  socket_t socket() const { return 0; }
  time_t duration() const { return 0; }
  // NOLINTEND(modernize-use-override)

  std::string TakeWritten() { return std::move(written_); }

 private:
  std::string_view rest_;
  std::string written_;
};

std::string QueryOf(const std::string& target) {
  const size_t begin = target.find('?');
  return begin == std::string::npos ? "" : target.substr(begin + 1);
}

Request RequestOf(const httplib::Request& from, std::string_view body) {
  Request request;
  request.method = from.method;
  request.path = from.path;
  request.query = QueryOf(from.target);
  for (const auto& [name, value] : from.params) request.parameters.emplace_back(name, value);
  request.host = from.get_header_value("Host");
  request.authorization = from.get_header_value("Authorization");
  request.body = body;
  return request;
}

bool IsKnown(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;  // the library reports the error in it
  const std::string_view name = line.substr(0, colon);
  return EqualsInAnyCase(name, "Host") || EqualsInAnyCase(name, "Authorization") ||
         EqualsInAnyCase(name, "Connection");
}

// Keeps the request line and the headers that the server uses.  The library would match other
// headers by std::regex, which takes a kilobyte of the stack for each byte of the header.  Parts of
// a heap profile (Range) are of no use.
std::string KnownHead(std::string_view head) {
  std::string known;
  for (bool is_first = true; !head.empty(); is_first = false) {
    const size_t length = std::min(head.find('\n'), head.size() - 1) + 1;
    const std::string_view line = head.substr(0, length);
    if (is_first || IsKnown(line)) known += line;
    head.remove_prefix(length);
  }
  return known;
}

bool IsHead(const Request& request) { return request.method == "HEAD"; }

// The limit of requests that the library tells clients; the server has no such limit.
constexpr size_t kMostRequests = 1'000'000;

// Runs the library's server for one request.  It has no routes: `answer` is called before them.
class OneRequest : public httplib::Server {
 public:
  OneRequest(std::string_view body, const Answer& answer) {
    set_keep_alive_timeout(kIdleSeconds);
    set_keep_alive_max_count(kMostRequests);
    set_pre_routing_handler([this, body, &answer](const auto& from, auto& to) {
      const Request request = RequestOf(from, body);
      Reply reply = answer(request);
      WriteHead(reply, &to);
      if (!IsHead(request)) body_ = std::move(reply.body);
      is_answered_ = true;
      return HandlerResponse::Handled;
    });
  }

  Response Run(std::string_view head, bool close) {
    const std::string known = KnownHead(head);
    MemoryStream stream(known);
    bool closed = false;
    Process(this, &stream, close, &closed, 0);
    Response response;
    response.head = stream.TakeWritten();
    response.body = std::move(body_);
    response.close = close || closed || !is_answered_;
    return response;
  }

 private:
  // Writes the length only: the library sends a body only if it has the body itself.
  static void WriteHead(const Reply& reply, httplib::Response* to) {
    to->status = reply.status;
    for (const auto& [name, value] : reply.headers) to->set_header(name.c_str(), value.c_str());
    if (!reply.type.empty()) to->set_header("Content-Type", reply.type.c_str());
    const size_t size = reply.body ? reply.body->size() : 0;
    to->set_header("Content-Length", std::to_string(size).c_str());
    to->set_header("Accept-Ranges", "none");
    to->set_header("Cache-Control", "no-store");
    to->set_header("X-Content-Type-Options", "nosniff");
  }

  // Selects the function by the library's version: 0.11 has the first form, 0.18 and later ones the
  // second.
  template <typename Self>
  static auto Process(Self* self, httplib::Stream* stream, bool close, bool* closed, int)
      -> decltype(self->process_request(*stream, close, *closed, nullptr)) {
    return self->process_request(*stream, close, *closed, nullptr);
  }
  template <typename Self>
  static auto Process(Self* self, httplib::Stream* stream, bool close, bool* closed, long)
      -> decltype(self->process_request(*stream, "", 0, "", 0, close, *closed, nullptr)) {
    return self->process_request(*stream, "", 0, "", 0, close, *closed, nullptr);
  }

  SharedText body_;
  bool is_answered_ = false;
};

const char* NameOf(int status) {
  switch (status) {
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    default:
      return "Bad Request";
  }
}

}  // namespace

const std::string* Request::Find(std::string_view name) const {
  for (const auto& parameter : parameters) {
    if (parameter.first == name) return &parameter.second;
  }
  return nullptr;
}

Reply ReplyOf(std::string body, const char* type) {
  Reply reply;
  reply.type = type;
  reply.body = std::make_shared<const std::string>(std::move(body));
  return reply;
}

Reply TextReply(int status, const std::string& line) {
  Reply reply = ReplyOf(line + "\n", kPlainText);
  reply.status = status;
  return reply;
}

Response Respond(std::string_view request, size_t head_bytes, bool close, const Answer& answer) {
  OneRequest server(request.substr(head_bytes), answer);
  return server.Run(request.substr(0, head_bytes), close);
}

Response Refusal(int status) {
  const std::string name = NameOf(status);
  const std::string body = name + "\n";
  Response response;
  response.head = "HTTP/1.1 " + std::to_string(status) + " " + name +
                  "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body;
  response.close = true;
  return response;
}

}  // namespace allomon::serve

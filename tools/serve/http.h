// HTTP/1.1 as a function from a request to a response.  cpp-httplib reads the one and writes the
// other; sockets are front.h's.
#ifndef ALLOMON_TOOLS_SERVE_HTTP_H_
#define ALLOMON_TOOLS_SERVE_HTTP_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace allomon::serve {

// What a page is asked for.
struct Request {
  std::string method;  // GET, HEAD or POST
  std::string path;    // decoded, without the query
  std::string query;   // as it came, without the question mark
  std::vector<std::pair<std::string, std::string>> parameters;  // of the query, decoded
  std::string host;                                             // the header; empty: none
  std::string authorization;                                    // the header; empty: none
  std::string_view body;
  const std::atomic<bool>* is_cancelled = nullptr;  // nobody waits for the reply any more

  // The first value of a parameter; nullptr: it is not there.
  const std::string* Find(std::string_view name) const;
};

inline constexpr int kIdleSeconds = 90;  // between two requests of a connection

using SharedText = std::shared_ptr<const std::string>;

struct Reply {
  int status = 200;
  std::string type;  // of the body
  SharedText body;   // nullptr: empty
  std::vector<std::pair<std::string, std::string>> headers;
};

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

// A reply of status 200.
Reply ReplyOf(std::string body, const char* type);
// One line as a reply.
Reply TextReply(int status, const std::string& line);

// What goes over the connection.  The body is shared: many clients may be sent one.
struct Response {
  std::string head;
  SharedText body;  // nullptr: none
  bool close = false;

  size_t size() const { return head.size() + (body ? body->size() : 0); }
};

// Answers a whole request, of `head_bytes` and a body (frame.h).  `answer` is called once at most,
// and not for what is no HTTP.  `close` says that the connection ends behind the response.
// Functions of their arguments, with the thread rule of `answer`.
using Answer = std::function<Reply(const Request& request)>;
Response Respond(std::string_view request, size_t head_bytes, bool close, const Answer& answer);

// A response to what cannot be read as a request; ends the connection.
Response Refusal(int status);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_HTTP_H_

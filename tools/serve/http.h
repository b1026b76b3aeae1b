// HTTP/1.1 as a function from a request to a response.  cpp-httplib reads requests and writes
// responses; front.h handles the sockets.
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

// A request for a page.
struct Request {
  std::string method;  // GET, HEAD or POST
  std::string path;    // decoded, without the query
  std::string query;   // as received, without the question mark
  std::vector<std::pair<std::string, std::string>> parameters;  // from the query, decoded
  std::string host;                                             // value of the header; empty:
                                                                // absent
  std::string authorization;                                    // value of the header; empty:
                                                                // absent
  std::string_view body;
  const std::atomic<bool>* is_cancelled = nullptr;  // true: no client waits for the reply any more

  // Returns the first value of a parameter; nullptr if the request does not have it.
  const std::string* Find(std::string_view name) const;
};

inline constexpr int kIdleSeconds = 90;  // between two requests of a connection

using SharedText = std::shared_ptr<const std::string>;

struct Reply {
  int status = 200;
  std::string type;  // content type of the body
  SharedText body;   // nullptr: empty
  std::vector<std::pair<std::string, std::string>> headers;
};

inline constexpr char kPlainText[] = "text/plain; charset=utf-8";

// Returns a reply of status 200.
Reply ReplyOf(std::string body, const char* type);
// Returns one line as a reply.
Reply TextReply(int status, const std::string& line);

// A response as it is sent.  Several responses may share a body.
struct Response {
  std::string head;
  SharedText body;  // nullptr: no body
  bool close = false;

  size_t size() const { return head.size() + (body ? body->size() : 0); }
};

// Answers a whole request, of `head_bytes` and a body (frame.h).  Calls `answer` at most once, and
// not for input that is not HTTP.  `close` means that the connection ends after the response.  All
// are functions of their arguments, with the thread rule of `answer`.
using Answer = std::function<Reply(const Request& request)>;
Response Respond(std::string_view request, size_t head_bytes, bool close, const Answer& answer);

// Returns the response to input that cannot be read as a request.  It ends the connection.
Response Refusal(int status);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_HTTP_H_

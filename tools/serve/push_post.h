// Sends one request to a collector, and tells what became of it.
#ifndef ALLOMON_TOOLS_SERVE_PUSH_POST_H_
#define ALLOMON_TOOLS_SERVE_PUSH_POST_H_

#include <atomic>
#include <string>

#include "tools/serve/bounded_work.h"
#include "tools/serve/http.h"
#include "tools/serve/push_endpoint.h"

namespace allomon::serve {

struct PushResult {
  int status = 0;                   // of HTTP; 0: there was no answer
  std::string message;              // one line, of the collector or about it; may be empty
  double retry_after_seconds = -1;  // that it has asked for; below 0: it has not
  bool is_partial = false;          // taken, but for some profiles

  bool IsTaken() const { return status >= 200 && status < 300; }
  // Whether the contract says to try again.
  bool IsToRetry() const;
};

// Posts a body, which is gzip's, in a process of its own (bounded_work.h): a collector that says a
// byte a second, or has a name that nobody resolves, costs that process.  https is libcurl's, which
// is looked for when the program runs.  Throws Cancelled as MakeBounded() does.
PushResult Post(const Endpoint& endpoint, const SharedText& body, const WorkLimits& limits,
                const std::atomic<bool>* is_cancelled);

// Whether libcurl can be loaded.
bool HasHttps();

// ---- Parts of Post(), which are functions of their arguments.

// An answer as it came.
struct RawAnswer {
  int status = 0;
  std::string problem;  // why there is none
  std::string retry_after;
  std::string type;
  std::string body;
};

// Sends by libcurl.
RawAnswer PostByCurl(const Endpoint& endpoint, const std::string& body);

// Returns seconds from the value of Retry-After, a number or a date; below 0 if it is neither.
double RetryAfterSeconds(const std::string& value, time_t now);

PushResult ResultOf(const RawAnswer& answer, const Endpoint& endpoint, time_t now);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PUSH_POST_H_

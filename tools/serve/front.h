// Handles a server's connections, with limits for their number and their times.
//
// One thread has all connections and never waits for one of them (poll(2)).  A complete request
// goes to one of a few other threads, which answer it.  The response is sent as the client takes
// it.  So a client that sends nothing, or takes nothing, costs a connection but no thread.
#ifndef ALLOMON_TOOLS_SERVE_FRONT_H_
#define ALLOMON_TOOLS_SERVE_FRONT_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "tools/serve/http.h"

namespace allomon::serve {

struct FrontLimits {
  using Milliseconds = std::chrono::milliseconds;

  // The most connections.  When one more comes, the one that has waited longest for a request ends.
  size_t connections = 1024;
  size_t threads = 2;  // in addition to one for quick requests
  // Returns true for quick requests; null: no request is quick.
  bool (*is_quick)(std::string_view request) = nullptr;
  Milliseconds request_time{10'000};  // from the first moment to the last byte of a request
  Milliseconds idle_time{kIdleSeconds * 1'000};
  Milliseconds answer_time{180'000};
  Milliseconds closed_time{1'000};  // for an answer to a client that has closed its side
  Milliseconds send_time{60'000};
  // The most bytes of responses that clients have not taken yet; each shared text counts once.
  // Above it, the connections that have been sending for longest end.  Responses that wait to be
  // sent may take half as much beside it: no request is answered while they do.
  size_t unsent_bytes = size_t{256} << 20;
};

class Front {
 public:
  // Takes over the listening socket, and closes it at the end.  Several threads call `answer` at
  // once; an exception from it becomes a status 500.
  Front(int listening, const FrontLimits& limits, Answer answer);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Serves until `stop` is readable.
  void Run(int stop);

 private:
  class Connections;
  const std::unique_ptr<Connections> connections_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_FRONT_H_

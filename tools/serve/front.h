// The connections of a server: as many as there may be, and no longer than they may take.
//
// One thread has all of them and never waits for one (poll(2)).  A request that is whole goes to
// one of a few other threads, which answer; its response goes out as the client takes it.  So a
// client that sends nothing, or takes nothing, costs a connection and no thread.
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

  // When one more comes, the one that has waited longest for a request ends.
  size_t connections = 1024;
  size_t threads = 2;  // besides one for quick requests
  // Whether a whole request is quick; null: none is.
  bool (*is_quick)(std::string_view request) = nullptr;
  Milliseconds request_time{10'000};  // from the first moment to the last byte of a request
  Milliseconds idle_time{kIdleSeconds * 1'000};
  Milliseconds answer_time{180'000};
  Milliseconds closed_time{1'000};  // for an answer to a client that has closed its side
  Milliseconds send_time{60'000};
  // Of responses that clients have not taken yet, each shared text once.  When there is more, those
  // that have been sent for longest end.
  size_t unsent_bytes = size_t{256} << 20;
};

class Front {
 public:
  // Takes the socket, which listens, and closes it in the end.  `answer` is called by several
  // threads at once; what it throws is a status 500.
  Front(int listening, const FrontLimits& limits, Answer answer);
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  // Serves until there is something to read from `stop`.
  void Run(int stop);

 private:
  class Connections;
  const std::unique_ptr<Connections> connections_;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_FRONT_H_

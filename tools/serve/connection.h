// One client: what it has sent, and what it is still to be sent.
#ifndef ALLOMON_TOOLS_SERVE_CONNECTION_H_
#define ALLOMON_TOOLS_SERVE_CONNECTION_H_

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tools/serve/frame.h"
#include "tools/serve/http.h"

namespace allomon::serve {

// Owns its socket, which does not block.  For one thread.
class Connection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  enum class State {
    kReads,    // a request
    kWaits,    // for its answer
    kSends,    // the response
    kDrains,   // the client is told that it ends, and may not have taken all yet
    kHasEnded  // to be closed
  };

  Connection(int fd, uint64_t id);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  uint64_t id() const { return id_; }
  State state() const { return state_; }
  short events() const;  // what poll(2) is asked for
  bool is_idle() const { return state_ == State::kReads && input_.empty(); }
  const Response& response() const { return response_; }

  // When the state began, and when it must end.
  Time since() const { return since_; }
  Time deadline() const { return deadline_; }
  void SetTimes(Time since, Time deadline) {
    since_ = since;
    deadline_ = deadline;
  }

  // Takes what there is.
  void Receive();
  // What begins the input.
  Frame NextFrame() const { return FrameOf(input_); }
  // The request of a whole frame, which is the input no more.
  std::string TakeRequest(const Frame& frame);

  // While it waits: the client sends no more, and may have gone.
  void NoteClosed() { is_closed_ = true; }

  void Begin(Response response);
  // Sends what the socket takes.
  void Send();
  void End() { state_ = State::kHasEnded; }

 private:
  void Drain();
  void AfterResponse();
  ssize_t SendSome();

  const int fd_;
  const uint64_t id_;
  State state_ = State::kReads;
  Time since_;
  Time deadline_;
  std::string input_;
  Response response_;
  bool is_closed_ = false;  // by the client
  size_t sent_ = 0;         // of the response
  size_t drained_ = 0;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_CONNECTION_H_

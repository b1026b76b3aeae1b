// A connection to one client: the input that has come, and the response that is still to be sent.
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

// Owns its socket, which is nonblocking.  One thread uses it.
class Connection {
 public:
  using Time = std::chrono::steady_clock::time_point;

  enum class State {
    kReads,    // reads a request
    kWaits,    // waits for the answer
    kSends,    // sends the response
    kDrains,   // the end is sent; waits until the client has read all
    kHasEnded  // must be closed
  };

  Connection(int fd, uint64_t id);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  uint64_t id() const { return id_; }
  State state() const { return state_; }
  short events() const;  // events to ask poll(2) for
  bool is_idle() const { return state_ == State::kReads && input_.empty(); }
  const Response& response() const { return response_; }

  // The times when the state began, and when it must end.
  Time since() const { return since_; }
  Time deadline() const { return deadline_; }
  void SetTimes(Time since, Time deadline) {
    since_ = since;
    deadline_ = deadline;
  }

  // Reads the available input.
  void Receive();
  // Finds the frame at the beginning of the input.
  Frame NextFrame() const { return FrameOf(input_); }
  // Removes the request of a whole frame from the input, and returns it.
  std::string TakeRequest(const Frame& frame);

  // Notes, while it waits for the answer, that the client sends no more, and may have gone.
  void NoteClosed() { is_closed_ = true; }

  void Begin(Response response);
  // Sends as much as the socket accepts.
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
  bool is_closed_ = false;  // the client has closed its side
  size_t sent_ = 0;         // bytes of the response
  size_t drained_ = 0;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_CONNECTION_H_

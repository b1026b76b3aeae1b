// The requests that a collector has not taken yet.
#ifndef ALLOMON_TOOLS_SERVE_PUSH_QUEUE_H_
#define ALLOMON_TOOLS_SERVE_PUSH_QUEUE_H_

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include "tools/serve/http.h"

namespace allomon::serve {

struct QueueLimits {
  size_t requests = 1024;
  size_t bytes = size_t{64} << 20;
};

// Drops the oldest requests when it is full.  Its owner has the lock.
class PushQueue {
 public:
  explicit PushQueue(const QueueLimits& limits) : limits_(limits) {}

  // Returns how many requests were dropped for it.  One that is larger than the queue is dropped
  // itself.
  size_t Add(SharedText body) {
    if (body->size() > limits_.bytes) return 1;
    size_t dropped = 0;
    for (; !HasRoomFor(*body); ++dropped) Take();
    bytes_ += body->size();
    bodies_.push_back(std::move(body));
    return dropped;
  }

  // Removes the oldest request; there must be one.
  SharedText Take() {
    SharedText body = std::move(bodies_.front());
    bodies_.pop_front();
    bytes_ -= body->size();
    return body;
  }

  // Makes a request the oldest one again.  Returns how many were dropped: itself, if newer ones
  // have its room.
  size_t PutBack(SharedText body) {
    if (!HasRoomFor(*body)) return 1;
    bytes_ += body->size();
    bodies_.push_front(std::move(body));
    return 0;
  }

  bool empty() const { return bodies_.empty(); }
  size_t size() const { return bodies_.size(); }
  size_t bytes() const { return bytes_; }

 private:
  bool HasRoomFor(const std::string& body) const {
    return bodies_.size() < limits_.requests && bytes_ + body.size() <= limits_.bytes;
  }

  const QueueLimits limits_;
  std::deque<SharedText> bodies_;
  size_t bytes_ = 0;
};

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_PUSH_QUEUE_H_

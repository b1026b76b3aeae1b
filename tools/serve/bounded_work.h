// Work in a process of its own, bounded in memory and time, that ends with its client.
//
// A recording of somebody else's may be made to take long, to take much memory, or to end whoever
// reads it.  A thread cannot be stopped; a process can.
#ifndef ALLOMON_TOOLS_SERVE_BOUNDED_WORK_H_
#define ALLOMON_TOOLS_SERVE_BOUNDED_WORK_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>

#include "tools/serve/http.h"

namespace allomon::serve {

struct WorkLimits {
  size_t memory_bytes = size_t{1} << 30;  // of address space, beyond what this process has
  std::chrono::milliseconds time{120'000};
};

// Nobody waits for the reply any more.
class Cancelled : public std::exception {};

// What `make` returns in a forked child, which has no descriptor of this process.  A reply of
// status 503 where it exceeds a limit, 500 where it ends otherwise.  Throws Cancelled soon after
// `is_cancelled`, if that is not null, has become true.
//
// Called by several threads at once: `make` may take no lock that another thread of this process
// may hold, but malloc's.  Cost: a fork, 1 ms.
Reply MakeBounded(const std::function<Reply()>& make, const WorkLimits& limits,
                  const std::atomic<bool>* is_cancelled);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_BOUNDED_WORK_H_

// Runs work in a process of its own.  The process has limits of memory and time, and ends when its
// client has gone.
//
// A recording of somebody else's may be made to take long, to take much memory, or to crash its
// reader.  A thread cannot be stopped; a process can.
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
  size_t memory_bytes = size_t{1} << 30;  // of address space, added to that of this process
  std::chrono::milliseconds time{120'000};
};

// Thrown when no client waits for the reply any more.
class Cancelled : public std::exception {};

// Runs `make` in a forked child, which has only the descriptors 0 to 2 of this process, and returns
// its reply.  Returns a reply of status 503 if the child exceeds a limit, and 500 if it ends
// otherwise.  Throws Cancelled soon after `is_cancelled` has become true, if that is not null.
//
// Several threads call this at once.  So `make` must not take a lock that another thread of this
// process may hold, except malloc's.  Cost: a fork, 1 ms.
Reply MakeBounded(const std::function<Reply()>& make, const WorkLimits& limits,
                  const std::atomic<bool>* is_cancelled);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_BOUNDED_WORK_H_

// The tracker that implements a counting: it follows the blocks that one thread allocates while it
// counts.
#ifndef ALLOMON_TRACKER_C_COUNTING_CLIENT_H_
#define ALLOMON_TRACKER_C_COUNTING_CLIENT_H_

#include <pthread.h>

#include <atomic>
#include <memory>

#include "tracker/c/counted_stacks.h"
#include "tracker/core/session_client.h"

namespace allomon::c {

// Data shared by a counting and its session: a free that has begun may end after the counting.
struct CountingBooks {
  const pthread_t thread = pthread_self();
  // Whether blocks are entered and removed.  `thread` stores it; a free on another thread that
  // begins before the stop may be counted after it.
  std::atomic<bool> counts{false};
  CountedStacks stacks;
};

class CountingClient final : public internal::SessionClient {
 public:
  explicit CountingClient(std::shared_ptr<CountingBooks> books) : books_(std::move(books)) {}

  bool AllocMinor(const Allocation& allocation, internal::ValueRoom* value) override {
    return Enter(allocation, value);
  }
  bool AllocMajor(const Allocation& allocation, internal::ValueRoom* value) override {
    return Enter(allocation, value);
  }
  bool Promote(internal::ValueRoom*) override { return true; }
  void DeallocMinor(internal::ValueRoom* value) override { Leave(*value); }
  void DeallocMajor(internal::ValueRoom* value) override { Leave(*value); }
  void SurviveMinor(const Allocation&, internal::ValueRoom*) override {}
  void SurviveMajor(const Allocation&, internal::ValueRoom*) override {}
  void DestroyMinor(internal::ValueRoom*) override {}
  void DestroyMajor(internal::ValueRoom*) override {}

 private:
  bool Enter(const Allocation& allocation, internal::ValueRoom* value);
  void Leave(const internal::ValueRoom& value);

  const std::shared_ptr<CountingBooks> books_;
};

}  // namespace allomon::c

#endif  // ALLOMON_TRACKER_C_COUNTING_CLIENT_H_

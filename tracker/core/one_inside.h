// Admits one thread of the process at a time to a piece of code; other threads skip it.
//
// Unlike a lock it is not held around fork.  A child may find the mark of a thread that it does not
// have; it recognises the mark by the number of forks, and enters.
#ifndef ALLOMON_TRACKER_CORE_ONE_INSIDE_H_
#define ALLOMON_TRACKER_CORE_ONE_INSIDE_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/fork.h"

namespace allomon::internal {

class OneInside {
 public:
  constexpr OneInside() = default;
  OneInside(const OneInside&) = delete;
  OneInside& operator=(const OneInside&) = delete;

  // True if this thread was admitted.  It is inside until the scope ends in any way but a longjmp.
  // Cost: two loads, and a compare-exchange if no thread is inside.
  class Scope {
   public:
    // A relaxed read of the number of forks is enough, since it does not change within a process.
    explicit Scope(OneInside& door) : door_(door) {
      const uint64_t mine = TimesForked() + 1;
      uint64_t found = door.inside_.load(std::memory_order_relaxed);
      is_inside_ = found != mine &&
                   door.inside_.compare_exchange_strong(found, mine, std::memory_order_acquire);
    }
    ~Scope() {
      if (is_inside_) door_.inside_.store(0, std::memory_order_release);
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    explicit operator bool() const { return is_inside_; }

   private:
    OneInside& door_;
    bool is_inside_;
  };

 private:
  // 0, or the number of forks plus one at the time the thread entered.
  std::atomic<uint64_t> inside_{0};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_ONE_INSIDE_H_

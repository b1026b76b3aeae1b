// Tells whether this process is a child that inherited the memory of the process which set the
// mark.
#ifndef ALLOMON_TRACKER_RECORDING_FORK_MARK_H_
#define ALLOMON_TRACKER_RECORDING_FORK_MARK_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/fork.h"

namespace allomon::recording {

// Set when a recording begins.  The mark is in a page that the kernel clears in every child with
// memory of its own, including one made by a bare clone().  If the kernel cannot, the tracker's
// fork handlers report the fork.  A child of vfork shares its parent's memory and does not count as
// a child here.
//
// Guarded by the recorder's lock.  Reading costs two loads.
class ForkMark {
 public:
  void Set();
  // Acquire pairs with the release in Set().
  bool IsInChild() const {
    return forks_ != internal::TimesForked() ||
           (mark_ != nullptr && mark_->load(std::memory_order_acquire) == 0);
  }

 private:
  std::atomic<uint32_t>* mark_ = nullptr;
  uint64_t forks_ = 0;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_FORK_MARK_H_

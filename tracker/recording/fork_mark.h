// Whether this process is a child that has inherited the memory of the one which set the mark.
#ifndef ALLOMON_TRACKER_RECORDING_FORK_MARK_H_
#define ALLOMON_TRACKER_RECORDING_FORK_MARK_H_

#include <atomic>
#include <cstdint>

#include "tracker/core/fork.h"

namespace allomon::recording {

// Set where a recording begins.  The mark stands in a page that the kernel empties in every child
// with memory of its own, also one that was made by a bare clone(); where the kernel cannot, the
// tracker's fork handlers tell.  A child of vfork, which has its parent's memory, is no child here.
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

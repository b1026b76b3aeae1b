// Free slots that a thread keeps for itself, so that a sample which is freed by the thread
// that allocated it executes no locked instruction for its memory.
//
// Plain data of one thread, all zero at first.  A signal handler that interrupts a change
// finds it in use, and goes to the list that all threads share.
#ifndef ALLOMON_ALLOCATOR_SLOT_CACHE_H_
#define ALLOMON_ALLOCATOR_SLOT_CACHE_H_

#include <atomic>
#include <cstdint>

#include "allocator/size_classes.h"

namespace allomon::internal {

struct SlotCache {
  // A slot is kept for blocks up to 1 KiB, and up to 16 of a class: 138 KiB in all.
  static constexpr uint32_t kClasses = SlotClass(1024) + 1;
  static constexpr uint32_t kMaxSlots = 16;

  struct List {
    uint32_t first;  // linked through the slots' words; of no meaning when count is 0
    uint32_t count;
  };

  List lists[kClasses];
  volatile bool in_use;
};

// A change of the calling thread's cache.
class SlotCacheUse {
 public:
  explicit SlotCacheUse(SlotCache& cache) : cache_(cache) {
    cache_.in_use = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~SlotCacheUse() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    cache_.in_use = false;
  }
  SlotCacheUse(const SlotCacheUse&) = delete;
  SlotCacheUse& operator=(const SlotCacheUse&) = delete;

 private:
  SlotCache& cache_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_SLOT_CACHE_H_

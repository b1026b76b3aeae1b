// The work that the threads of one parallel collection exchange.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_SHARED_WORK_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_SHARED_WORK_H_

#include <atomic>
#include <cstddef>

#include "tracker/base/mutex.h"

namespace allomon::gc::internal {

using allomon::internal::Condition;
using allomon::internal::Mutex;
using allomon::internal::MutexHolder;

// A member does its own work, and offers a part of that when less is on offer than there are other
// members.  Without work it takes an offer, or waits.  When all wait the work is done.  Needs no
// memory: a batch of pending copies is linked through dead originals (Evacuation), and one of
// objects to mark lies in a member's own memory (MarkBatch).
class SharedWork {
 public:
  // The collecting thread is a member from the beginning.
  explicit SharedWork(size_t most_members)
      : wanted_offers_(most_members - 1 < kMostOffers ? most_members - 1 : kMostOffers) {}

  // Makes the calling thread a member; false if the work is done.
  bool Join();
  // A hint.
  bool WantsOffer() const { return n_offers_.load(std::memory_order_relaxed) < wanted_offers_; }
  // Returns false if others have offered enough meanwhile.  The mutex makes what the member wrote
  // visible to the one that takes the batch.
  bool Offer(void* batch);
  // Called by a member without work.  Waits; nullptr when the work is done.
  void* Take();

 private:
  static constexpr size_t kMostOffers = 4;

  void AwaitOffer() const;
  bool WaitLocked() ALLOMON_REQUIRES(mutex_);
  void* TakeOffered() ALLOMON_REQUIRES(mutex_);

  const size_t wanted_offers_;
  std::atomic<size_t> n_offers_{0};   // written under mutex_
  std::atomic<bool> is_done_{false};  // written under mutex_
  Mutex mutex_;
  Condition changed_;
  void* offers_[kMostOffers] ALLOMON_GUARDED_BY(mutex_);
  size_t members_ ALLOMON_GUARDED_BY(mutex_) = 1;
  size_t idle_ ALLOMON_GUARDED_BY(mutex_) = 0;
  size_t asleep_ ALLOMON_GUARDED_BY(mutex_) = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_SHARED_WORK_H_

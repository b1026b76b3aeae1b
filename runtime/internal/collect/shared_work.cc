#include "runtime/internal/collect/shared_work.h"

#include "runtime/internal/collect/brief_pause.h"
#include "tracker/base/check.h"

namespace allomon::gc::internal {

bool SharedWork::Join() {
  const MutexHolder hold(mutex_);
  if (is_done_.load(std::memory_order_relaxed)) return false;
  ++members_;
  return true;
}

bool SharedWork::Offer(void* batch) {
  const MutexHolder hold(mutex_);
  const size_t n = n_offers_.load(std::memory_order_relaxed);
  if (n >= wanted_offers_) return false;
  offers_[n] = batch;
  n_offers_.store(n + 1, std::memory_order_relaxed);
  if (asleep_ != 0) changed_.NotifyOne();
  return true;
}

// Waking a thread that sleeps takes longer than this.
void SharedWork::AwaitOffer() const {
  for (unsigned look = 0; look < kBriefLooks && n_offers_.load(std::memory_order_relaxed) == 0 &&
                          !is_done_.load(std::memory_order_relaxed);
       ++look) {
    PauseBriefly();
  }
}

void* SharedWork::TakeOffered() {
  const size_t n = n_offers_.load(std::memory_order_relaxed) - 1;
  n_offers_.store(n, std::memory_order_relaxed);
  --idle_;
  return offers_[n];
}

// Returns whether there is an offer; false when the work is done.  Each pass of the loop first
// looks without the mutex, then sleeps.
bool SharedWork::WaitLocked() {
  for (bool looked = false;; looked = !looked) {
    if (n_offers_.load(std::memory_order_relaxed) != 0) return true;
    if (idle_ == members_) {
      is_done_.store(true, std::memory_order_relaxed);
      changed_.NotifyAll();
    }
    if (is_done_.load(std::memory_order_relaxed)) return false;
    if (looked) {
      ++asleep_;
      changed_.Wait(mutex_);
      --asleep_;
    } else {
      mutex_.unlock();
      AwaitOffer();
      mutex_.lock();
    }
  }
}

void* SharedWork::Take() {
  const MutexHolder hold(mutex_);
  ++idle_;
  ALLOMON_DCHECK_LE("inv.work.idle", idle_, members_);
  return WaitLocked() ? TakeOffered() : nullptr;
}

}  // namespace allomon::gc::internal

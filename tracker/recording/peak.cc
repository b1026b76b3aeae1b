#include "tracker/recording/peak.h"

#include <new>

namespace allomon::recording {

void PeakState::Begin(double units_per_byte) {
  new (this) PeakState;  // the lock may have been a thread's that a fork has left behind
  bytes_per_unit_ = 1 / units_per_byte;
}

// Another thread may have noted a larger sum since this one has looked.
void PeakState::NoteSlow(const int64_t (&sums)[kHalves], uint64_t nanos,
                         const Written<ProcessRecord>& file) {
  const internal::SpinLockHolder hold(lock_);
  for (uint32_t half = 0; half < kHalves; ++half) {
    if (!IsNew(half, sums)) continue;
    most_[half].store(sums[half], std::memory_order_relaxed);
    other_[half].store(sums[1 - half], std::memory_order_relaxed);
    noise_at_peak_[half].store(noise_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    at_most_[half].store(true, std::memory_order_relaxed);
    const uint32_t epoch = epoch_[half].load(std::memory_order_relaxed) + 1;
    // Pairs with the acquire in Epoch(): the rows that change from now on were live until now.
    epoch_[half].store(epoch, std::memory_order_release);
    file.At(&ProcessRecord::peak_epoch, half).Publish(epoch);
  }
  const double bytes = static_cast<double>(Peak()) * bytes_per_unit_;
  file[&ProcessRecord::peak_bytes].Store(static_cast<uint64_t>(bytes < 0 ? 0 : bytes + 0.5));
  file[&ProcessRecord::peak_nanos].Store(nanos);
}

}  // namespace allomon::recording

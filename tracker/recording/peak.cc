#include "tracker/recording/peak.h"

#include <new>

#include "tracker/probes/probes.h"

namespace allomon::recording {
namespace {

// Limits the tries to find a moment without deaths, in case other threads free all the time.
constexpr uint32_t kMostLooks = 8;

}  // namespace

void PeakState::Begin(double units_per_byte) {
  new (this) PeakState;  // resets the lock: a thread that fork did not copy may have held it
  ALLOMON_DCHECK("inv.recording.weight", units_per_byte > 0);
  bytes_per_unit_ = 1 / units_per_byte;
}

// Takes the current sums, not those that the calling thread found.  The thread may have been
// stopped since, and rows that changed meanwhile have not saved their counts for the older sums.
void PeakState::NoteSlow(uint64_t nanos, const Written<ProcessRecord>& file) {
  const internal::SpinLockHolder hold(lock_);
  for (uint32_t half = 0; half < kHalves; ++half) NoteHalf(half, file);
  const double peak_bytes = static_cast<double>(Peak()) * bytes_per_unit_;
  const auto bytes = static_cast<uint64_t>(peak_bytes < 0 ? 0 : peak_bytes + 0.5);
  file[&ProcessRecord::peak_bytes].Store(bytes);
  file[&ProcessRecord::peak_nanos].Store(nanos);
  probes::FirePeak(bytes);
}

// A block that dies between the reading of the sums and the new epoch is in no row's part of the
// peak.  If one did, the sums are read once more after the epoch.
void PeakState::NoteHalf(uint32_t half, const Written<ProcessRecord>& file) {
  int64_t sums[kHalves];
  int64_t now[kHalves];
  const auto look = [this](int64_t(&to)[kHalves]) {
    for (uint32_t i = 0; i < kHalves; ++i) to[i] = live_[i].load();
  };
  look(sums);
  if (!IsNew(half, sums)) return;
  for (uint32_t tries = 0; tries < kMostLooks; ++tries) {
    most_[half].store(sums[half], std::memory_order_relaxed);
    other_[half].store(sums[1 - half], std::memory_order_relaxed);
    noise_at_peak_[half].store(noise_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    at_most_[half].store(true, std::memory_order_relaxed);
    const uint32_t epoch = epoch_[half].load(std::memory_order_relaxed) + 1;
    // Pairs with the acquire in Epoch(): blocks of rows that change from now on were live until
    // now.
    epoch_[half].store(epoch);
    file.At(&ProcessRecord::peak_epoch, half).Publish(epoch);
    look(now);
    if (now[0] >= sums[0] && now[1] >= sums[1]) return;
    for (uint32_t i = 0; i < kHalves; ++i) sums[i] = now[i];
  }
}

}  // namespace allomon::recording

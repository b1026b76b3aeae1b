// Tracks the live bytes of each half of the samples and their peaks: README.md, 4.
//
// The maximum of an estimate overstates the truth, because it is found where the error is large.
// So one half of the samples determines the time of the peak, and the other half, whose errors are
// independent, determines what was live then; and vice versa.
//
// Half i reaches a peak when its sum is the largest so far, or when it stays at that sum and the
// other half's grows.  Until the half's sum falls, the moment moves on to the one with the largest
// sum of the other half.  So a program that only grows has its peak at the end, not at the half's
// last sample.
//
// Any thread.  AddBirth() and AddDeath() take a lock only for a new peak; it is held for some 40
// instructions.
#ifndef ALLOMON_TRACKER_RECORDING_PEAK_H_
#define ALLOMON_TRACKER_RECORDING_PEAK_H_

#include <atomic>
#include <cstdint>

#include "tracker/base/check.h"
#include "tracker/base/spin_lock.h"
#include "tracker/recording/class_weights.h"
#include "tracker/recording/written.h"

namespace allomon::recording {

// Sums are in units of ClassWeights::units_per_byte().
class PeakState {
 public:
  // `flags` of a Row tell which halves have the block.
  void AddBirth(uint8_t flags, const HalfUnits& units, uint64_t nanos,
                const Written<ProcessRecord>& file) {
    AddNoise(flags, units.noise);  // before a new peak takes the sum
    int64_t sums[kHalves];
    for (uint32_t half = 0; half < kHalves; ++half) {
      sums[half] = (flags & kOfHalf[half]) != 0
                       ? live_[half].fetch_add(units.bytes, std::memory_order_relaxed) + units.bytes
                       : live_[half].load(std::memory_order_relaxed);
    }
    if (__builtin_expect(IsNew(0, sums) || IsNew(1, sums), 0)) NoteSlow(nanos, file);
  }
  void AddDeath(uint8_t flags, const HalfUnits& units) {
    AddNoise(flags, -units.noise);
    for (uint32_t half = 0; half < kHalves; ++half) {
      if ((flags & kOfHalf[half]) == 0) continue;
      if (at_most_[half].load(std::memory_order_relaxed)) {
        at_most_[half].store(false, std::memory_order_relaxed);
      }
      [[maybe_unused]] const int64_t live =
          live_[half].fetch_sub(units.bytes, std::memory_order_relaxed);
      // The birth was added before: the dying thread has the block from the one that got it.
      ALLOMON_DCHECK_LE("inv.recording.live", units.bytes, live);
    }
  }

  uint32_t Epoch(uint32_t half) const { return epoch_[half].load(std::memory_order_acquire); }
  // Both halves together, in units.
  int64_t Live() const { return Mean(live_); }
  int64_t Peak() const { return Mean(other_); }

  // The variance of Peak(), in units of noise_bytes().  It may be a third larger if the two halves
  // have their peaks at different moments (README.md, 4).
  int64_t PeakNoise() const {
    return (noise_at_peak_[0].load(std::memory_order_relaxed) +
            noise_at_peak_[1].load(std::memory_order_relaxed)) /
           8;
  }

  // No other thread looks.
  void Begin(double units_per_byte);

 private:
  static int64_t Mean(const std::atomic<int64_t> (&halves)[kHalves]) {
    const __int128 sum = static_cast<__int128>(halves[0].load(std::memory_order_relaxed)) +
                         halves[1].load(std::memory_order_relaxed);
    return static_cast<int64_t>(sum / 2);
  }
  bool IsNew(uint32_t half, const int64_t (&sums)[kHalves]) const {
    const int64_t most = most_[half].load(std::memory_order_relaxed);
    return sums[half] > most ||
           (sums[half] == most && at_most_[half].load(std::memory_order_relaxed) &&
            sums[1 - half] > other_[half].load(std::memory_order_relaxed));
  }
  void AddNoise(uint8_t flags, int64_t noise) {
    if (noise == 0) return;  // a block that is sampled for sure
    const bool is_of_both = (flags & kOfHalf[0]) != 0 && (flags & kOfHalf[1]) != 0;
    const int64_t added = is_of_both ? 2 * noise : noise;
    [[maybe_unused]] const int64_t before = noise_.fetch_add(added, std::memory_order_relaxed);
    ALLOMON_DCHECK_LE("inv.recording.live", 0, before + added);
  }
  void NoteSlow(uint64_t nanos, const Written<ProcessRecord>& file);
  void NoteHalf(uint32_t half, const Written<ProcessRecord>& file) ALLOMON_REQUIRES(lock_);

  // One line of the cache.
  alignas(64) std::atomic<int64_t> live_[kHalves] = {};
  std::atomic<int64_t> most_[kHalves] = {};   // of live_
  std::atomic<int64_t> other_[kHalves] = {};  // the other half's sum at that moment
  std::atomic<int64_t> noise_ = 0;            // of both halves, added up
  std::atomic<bool> at_most_[kHalves] = {};   // nothing of the half has died since

  // On a cache line of its own, which only a new peak changes.
  alignas(64) std::atomic<uint32_t> epoch_[kHalves] = {};
  std::atomic<int64_t> noise_at_peak_[kHalves] = {};
  internal::SpinLock lock_;
  double bytes_per_unit_ = 1;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_PEAK_H_

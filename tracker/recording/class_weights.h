// Weights of sampled blocks by size class: how many blocks and bytes one sampled block stands for.
//
// All blocks of a row have one weight, so a row can count blocks instead of adding up estimates,
// and no sum is ever rounded.  The weight is that of the class's least size or of its greatest
// size.  A block of a size in between gets one of the two by chance, with the probability that
// makes its mean weight exactly its own (Choose()).  That adds at most (1/16)^2 of a sample's
// variance.
//
// The halves of recording_layout.h: one half samples a block of probability p with q = 1 - sqrt(1 -
// p).  So a sampled block belongs to both halves with probability q / (2 - q), else to either half
// with equal probability.  The halves are independent: P(both) = p q / (2 - q) = q^2.
//
// Thread safe; for use inside malloc: no lock, no malloc.  Weights are computed once for each
// class.
#ifndef ALLOMON_TRACKER_RECORDING_CLASS_WEIGHTS_H_
#define ALLOMON_TRACKER_RECORDING_CLASS_WEIGHTS_H_

#include <atomic>
#include <cstdint>

#include "tracker/allocation.h"
#include "tracker/base/check.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::recording {

struct ClassWeight {
  double blocks;                 // 1/p: how many blocks a sampled block stands for
  Wide wide;                     // the same
  double units_per_byte;         // of PeakState: 1/q
  double noise_per_square_byte;  // of PeakState
  uint32_t both_share;  // of 2^32 sampled blocks, how many both halves have; UINT32_MAX: all
};

// Units of PeakState that a sampled block adds to each half that samples it.
struct HalfUnits {
  int64_t bytes;
  // Adds to the variance of the half's bytes: bytes^2 (1 - q) / q^2, in units of noise_bytes().
  int64_t noise;
};

// Limits the units of one block.  Address space that is allocated and never used may exceed the
// range of a word; the limit leaves room for eight such blocks.
inline int64_t ToUnits(double units) {
  ALLOMON_DCHECK("inv.recording.weight", units >= 0);
  constexpr double kMost = static_cast<double>(int64_t{1} << 60);
  return static_cast<int64_t>(units < kMost ? units : kMost);
}

// Returns the units of one block.
inline HalfUnits UnitsOf(const ClassWeight& weight, uint64_t object_bytes) {
  const auto bytes = static_cast<double>(static_cast<int64_t>(object_bytes));
  return {ToUnits(bytes * weight.units_per_byte),
          ToUnits(bytes * bytes * weight.noise_per_square_byte)};
}

// The product, rounded down to 2^-32.
inline Wide Times(const Wide& weight, uint64_t bytes) {
  const unsigned __int128 fraction = static_cast<unsigned __int128>(weight.fraction) * bytes;
  return {weight.whole * bytes + static_cast<uint64_t>(fraction >> 32),
          static_cast<uint32_t>(fraction)};
}

class ClassWeights {
 public:
  explicit ClassWeights(double rate);
  ~ClassWeights();
  ClassWeights(const ClassWeights&) = delete;
  ClassWeights& operator=(const ClassWeights&) = delete;

  // Returns the weight of a class's least or greatest size.  *scratch holds the result if the
  // kernel refused own memory.
  const ClassWeight& Of(uint16_t size_class, AllocationSource source, bool greatest,
                        ClassWeight* scratch) const {
    const uint32_t index =
        size_class * 4u + (source == AllocationSource::kCustom ? 2 : 0) + (greatest ? 1 : 0);
    ALLOMON_DCHECK_LT("inv.recording.weight", index, kIndexes);
    if (__builtin_expect(known_ == nullptr, 0)) return *scratch = Compute(index);
    const Known& known = known_[index];
    // Pairs with the release in LearnSlow().
    if (__builtin_expect(!known.is_set.load(std::memory_order_acquire), 0)) {
      return *scratch = LearnSlow(index);
    }
    return known.weight;
  }

  // Returns the weight for a block that stands for `blocks`.  *greatest tells whether it is weighed
  // as the class's greatest size.  `chance` is uniform in [0, 2^31).
  const ClassWeight& Choose(uint16_t size_class, AllocationSource source, double blocks,
                            uint32_t chance, bool* greatest, ClassWeight* scratch) const {
    const ClassWeight& least = Of(size_class, source, false, scratch);
    *greatest = false;
    if (__builtin_expect(blocks == least.blocks, 1)) return least;
    return ChooseSlow(size_class, source, blocks, chance, greatest, scratch);
  }

  // Called in a child of fork.  One of the parent's threads may have been computing a weight.
  void ForgetOtherThreads() const { learning_.store(false, std::memory_order_relaxed); }

  // Units of PeakState in a byte: 2^-20 of it, or larger ones where the rate is so small that
  // estimates need them.
  double units_per_byte() const { return units_per_byte_; }
  // The largest ratio of the variance of a half's estimate to the estimate.  A block of w words has
  // b (1 - q) / q = b / (e^(w x) - 1) <= 8 / x, with e^-x = sqrt(1 - rate), since b <= 8 w.  So
  // sums of variances in this unit are no larger than sums of bytes.  0 at rate 1.
  double noise_bytes() const { return noise_bytes_; }

 private:
  static constexpr uint32_t kIndexes = (SizeClassOf(UINT64_MAX) + 1u) * 4;

  struct Known {
    std::atomic<bool> is_set;
    ClassWeight weight;
  };

  ClassWeight Compute(uint32_t index) const;
  ClassWeight LearnSlow(uint32_t index) const;
  const ClassWeight& ChooseSlow(uint16_t size_class, AllocationSource source, double blocks,
                                uint32_t chance, bool* greatest, ClassWeight* scratch) const;

  const double rate_;
  const double units_per_byte_;
  const double noise_bytes_;
  Known* const known_;  // own memory; nullptr if the kernel refused it
  mutable std::atomic<bool> learning_{false};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_CLASS_WEIGHTS_H_

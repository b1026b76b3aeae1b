#include "tracker/recording/class_weights.h"

#include <algorithm>
#include <cmath>

#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"
#include "tracker/base/words.h"
#include "tracker/estimate.h"
#include "tracker/sampling/elementary.h"

namespace allomon::recording {
namespace {

constexpr double kFraction = 4294967296.0;  // 2^32

// Chooses the units of a byte.  Rate 1 needs whole bytes only.  At lower rates a signed word holds
// 8 TiB of the smallest units.  A sampled block stands for 8 MB at rate 1e-6; at rate 1e-12 its
// bytes need six more digits.
double UnitsFor(double rate) {
  if (rate >= 1) return 1;
  double units = 1 << 20;
  for (double least = 1e-6; rate < least && units > 1.0 / 16; least /= 2) units /= 2;
  return units;
}

Wide ToWide(double number) {
  const double whole = std::floor(number);
  return {static_cast<uint64_t>(whole), static_cast<uint64_t>((number - whole) * kFraction)};
}

}  // namespace

ClassWeights::ClassWeights(double rate)
    : rate_(rate),
      units_per_byte_(UnitsFor(rate)),
      noise_bytes_(rate < 1 ? 2.0 * internal::kBytesPerWord / -internal::Log1p(-rate) : 0),
      known_(static_cast<Known*>(internal::OwnMemory::Map(kIndexes * sizeof(Known)))) {}

ClassWeights::~ClassWeights() {
  if (known_ != nullptr) internal::OwnMemory::Unmap(known_, kIndexes * sizeof(Known));
}

ClassWeight ClassWeights::Compute(uint32_t index) const {
  const auto size_class = static_cast<uint16_t>(index / 4);
  const AllocationSource source =
      (index & 2) != 0 ? AllocationSource::kCustom : AllocationSource::kMalloc;
  const uint64_t size_bytes =
      (index & 1) != 0 ? GreatestSizeOf(size_class) : LeastSizeOf(size_class);
  // Custom memory of no bytes is never sampled.
  const uint64_t words = std::max<uint64_t>(TrialWords(size_bytes, source), 1);
  const double p = ReportProbability(words, rate_);
  // 1 - sqrt(1 - p), without the loss of digits where p is small.
  const double q = p / (1 + std::sqrt(1 - p));
  ALLOMON_DCHECK("inv.recording.weight", 0 < q && q <= p && p <= 1);
  ClassWeight weight;
  weight.blocks = 1 / p;
  weight.wide = ToWide(weight.blocks);
  weight.units_per_byte = units_per_byte_ / q;
  const double missed = std::sqrt(1 - p);  // 1 - q
  weight.noise_per_square_byte =
      noise_bytes_ > 0 ? units_per_byte_ * missed / (q * q) / noise_bytes_ : 0;
  weight.both_share = static_cast<uint32_t>(std::min(q / (2 - q) * kFraction, kFraction - 1));
  return weight;
}

// If two threads compute the same weight, the later result is used once and is not kept.
ClassWeight ClassWeights::LearnSlow(uint32_t index) const {
  const ClassWeight weight = Compute(index);
  if (!learning_.exchange(true, std::memory_order_acquire)) {
    Known& known = known_[index];
    if (!known.is_set.load(std::memory_order_relaxed)) known.weight = weight;
    known.is_set.store(true, std::memory_order_release);
    learning_.store(false, std::memory_order_release);
  }
  return weight;
}

// Let g be the fraction of blocks that get the weight of the greatest size.  Then least (1 - g) +
// greatest g = blocks.
const ClassWeight& ClassWeights::ChooseSlow(uint16_t size_class, AllocationSource source,
                                            double blocks, uint32_t chance, bool* greatest,
                                            ClassWeight* scratch) const {
  constexpr double kChances = 2147483648.0;  // 2^31
  const double least = Of(size_class, source, false, scratch).blocks;
  const double most = Of(size_class, source, true, scratch).blocks;
  ALLOMON_DCHECK_LE("inv.recording.weight", most, least);
  *greatest = most < least && chance < (least - blocks) / (least - most) * kChances;
  return Of(size_class, source, *greatest, scratch);
}

}  // namespace allomon::recording

// Chooses the part of a nursery that is used, so that a minor collection is short.
#ifndef ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_SHARE_H_
#define ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_SHARE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace allomon::gc::internal {

// The pause of a minor collection is the promoted bytes times their cost.  If all objects survive
// and are promoted into untouched pages, a nursery takes ten times as long as usual.  Both factors
// are kept as decaying maxima, so that one cheap collection does not make the next one long.
class NurseryShare {
 public:
  // Notes that a collection has promoted `promoted_bytes` of the `used_bytes` in the nurseries.
  void Note(uint64_t promoted_bytes, uint64_t used_bytes, uint64_t ns) {
    if (used_bytes < kLeastBytes / 4) return;
    const double survival = static_cast<double>(promoted_bytes) / static_cast<double>(used_bytes);
    survival_ = std::max(survival, survival_ * kDecay);
    if (promoted_bytes < kLeastBytes / 4) return;
    const double cost = static_cast<double>(ns) / static_cast<double>(promoted_bytes);
    // A higher cost means that the machine was busy with other work.
    ns_per_byte_ = std::max(std::min(cost, kMostNsPerByte), ns_per_byte_ * kDecay);
  }

  // Returns how much of a nursery of `bytes` to use.  `is_urgent`: most of a pause is for marking.
  size_t Part(size_t bytes, bool is_urgent) const {
    const double ns = survival_ * ns_per_byte_ * static_cast<double>(bytes);
    const double target_ns = is_urgent ? kUrgentNs : kTargetNs;
    if (ns <= target_ns) return bytes;
    const size_t part = static_cast<size_t>(static_cast<double>(bytes) * target_ns / ns);
    return std::max(part, Least(bytes));
  }
  static size_t Least(size_t bytes) { return std::min(bytes, kLeastBytes); }

 private:
  static constexpr double kTargetNs = 2e6;
  static constexpr double kUrgentNs = 2.5e5;  // a tenth of a pause while it marks (mark_slices.h)
  static constexpr size_t kLeastBytes = 256 << 10;
  static constexpr double kDecay = 0.98;  // a half after 35 collections
  static constexpr double kMostNsPerByte = 8;

  double survival_ = 0;
  double ns_per_byte_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_SPACE_NURSERY_SHARE_H_

// Spreads the work of a collection in slices over the bytes that become old during it.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SLICES_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SLICES_H_

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace allomon::gc::internal {

// The clock of pauses.
inline uint64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// A collection begins before the grown bytes reach the threshold, and must have marked everything
// when they do.  The lead is derived from the last collection.
class MarkPacing {
 public:
  // Returns the grown bytes at which the next collection begins.
  uint64_t StartBytes(uint64_t threshold_bytes) const {
    return threshold_bytes - threshold_bytes * lead_ / kWhole;
  }

  void Begin(uint64_t grown_bytes, uint64_t threshold_bytes) {
    start_bytes_ = grown_bytes;
    const uint64_t room = threshold_bytes > grown_bytes ? threshold_bytes - grown_bytes : 0;
    room_bytes_ = std::max<uint64_t>({room, threshold_bytes / kMostLeads, kLeastRoomBytes});
    threshold_bytes_ = threshold_bytes;
  }
  // Ends the marking.  The next lead is half as much again as this marking took.
  void EndMarking(uint64_t grown_bytes) {
    const uint64_t took = (grown_bytes - start_bytes_) * 3 / 2;
    lead_ = std::clamp<uint64_t>(took * kWhole / std::max<uint64_t>(threshold_bytes_, 1),
                                 kWhole / kMostLeads, kWhole / 2);
  }
  // Sweeping must be done long before the grown bytes reach the next threshold.
  void BeginSweep(uint64_t threshold_bytes) {
    start_bytes_ = 0;
    room_bytes_ = threshold_bytes_ = threshold_bytes;
  }

  bool IsLate(uint64_t grown_bytes) const { return grown_bytes - start_bytes_ > room_bytes_; }
  // The program has made so much old during the marking that this is to gain on it.  All of it
  // counts as live until the next collection, and holes are not filled meanwhile.
  bool IsUrgent(uint64_t grown_bytes) const { return grown_bytes - start_bytes_ > kCalmBytes; }
  // Returns the time at which a slice ends.  The pause has begun with a minor collection.
  uint64_t SliceEnd(bool marks, uint64_t pause_start_ns, uint64_t now_ns,
                    uint64_t grown_bytes) const {
    const bool is_late = IsLate(grown_bytes);
    if (!marks && !is_late) return now_ns + kLeastSliceNs;
    return is_late ? std::max(pause_start_ns + kLatePauseNs, now_ns + 2 * kLeastSliceNs)
                   : std::max(pause_start_ns + kPauseNs, now_ns + kLeastSliceNs);
  }
  // The program makes objects old faster than they are marked, although its nurseries are small
  // (reserve.cc): the old space is about to have twice the bytes that it was to have.
  bool IsHopeless(uint64_t grown_bytes) const {
    return grown_bytes - start_bytes_ > room_bytes_ + threshold_bytes_;
  }
  // Returns the grown bytes at which a pause comes even if no nursery is full.
  uint64_t NextPause(uint64_t grown_bytes) const { return grown_bytes + room_bytes_ / 32; }

 private:
  // No pause is to exceed 5 ms.
  static constexpr uint64_t kPauseNs = 2'500'000;
  static constexpr uint64_t kLatePauseNs = 4'000'000;
  static constexpr uint64_t kLeastSliceNs = 500'000;
  // With small nurseries from the beginning, binary trees 18 took 7 to 12 % more time: its markings
  // are short.
  static constexpr uint64_t kCalmBytes = uint64_t{1} << 20;
  static constexpr uint64_t kLeastRoomBytes = uint64_t{1} << 20;
  static constexpr uint64_t kMostLeads = 16;
  static constexpr uint64_t kWhole = 256;

  uint64_t lead_ = kWhole / 8;  // a part of the threshold, in 1/kWhole
  uint64_t start_bytes_ = 0;
  uint64_t room_bytes_ = 0;
  uint64_t threshold_bytes_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_MARK_SLICES_H_

// How the work of a collection in slices is spread over the bytes that become old meanwhile.
#ifndef ALLOMON_RUNTIME_INTERNAL_MARK_SLICES_H_
#define ALLOMON_RUNTIME_INTERNAL_MARK_SLICES_H_

#include <algorithm>
#include <cstdint>

namespace allomon::gc::internal {

// A collection begins when the bytes that became old since the last one have come near the
// threshold, and is to have marked all when they reach it.
class MarkPacing {
 public:
  // So early, as a part of the threshold.
  static constexpr uint64_t kEarlier = 8;

  void Begin(uint64_t grown_bytes, uint64_t threshold_bytes, uint64_t words) {
    start_bytes_ = grown_bytes;
    const uint64_t room = threshold_bytes > grown_bytes ? threshold_bytes - grown_bytes : 0;
    room_bytes_ = std::max<uint64_t>({room, threshold_bytes / kEarlier, kLeastRoomBytes});
    words_ = words;
  }

  // The program allocates on; sweeping is to be done long before the next collection.
  void BeginSweep(uint64_t threshold_bytes) {
    start_bytes_ = 0;
    room_bytes_ = threshold_bytes;
  }

  // So many words of the snapshot are to be marked by now.
  uint64_t TargetWords(uint64_t grown_bytes) const {
    const double part = static_cast<double>(grown_bytes - start_bytes_) /
                        static_cast<double>(room_bytes_);
    return part >= 1 ? UINT64_MAX : static_cast<uint64_t>(part * static_cast<double>(words_));
  }
  // When a slice ends.  The pause has begun with a minor collection.
  uint64_t SliceEnd(bool marks, uint64_t pause_start_ns, uint64_t now_ns,
                    uint64_t grown_bytes) const {
    if (!marks) return now_ns + kLeastSliceNs;
    const bool is_late = grown_bytes - start_bytes_ > room_bytes_;
    return std::max(pause_start_ns + (is_late ? kLatePauseNs : kPauseNs), now_ns + kLeastSliceNs);
  }
  // The program makes objects old faster than they are marked: by now the old space is larger by
  // half than it was to be.
  bool IsHopeless(uint64_t grown_bytes) const {
    return grown_bytes - start_bytes_ > room_bytes_ * (1 + kEarlier / 2);
  }
  // The bytes at which a pause comes, whether or not a nursery is full.
  uint64_t NextPause(uint64_t grown_bytes) const { return grown_bytes + room_bytes_ / 32; }

 private:
  // No pause is to exceed 5 ms.
  static constexpr uint64_t kPauseNs = 2'500'000;
  static constexpr uint64_t kLatePauseNs = 4'000'000;
  static constexpr uint64_t kLeastSliceNs = 500'000;
  static constexpr uint64_t kLeastRoomBytes = uint64_t{1} << 20;

  uint64_t start_bytes_ = 0;
  uint64_t room_bytes_ = 0;
  uint64_t words_ = 0;
};

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_MARK_SLICES_H_

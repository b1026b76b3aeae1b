// The sampled blocks that are live.  Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_
#define ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_

#include <cstdint>

#include "tracker/recording/number_array.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

class LiveBlocks {
 public:
  void Begin(SegmentSource* source, uint32_t* count) {
    blocks_.Begin(source, count);
    free_ = 0;
  }
  void Clear() {
    blocks_.Clear();
    next_free_.Clear();
  }

  // 0 if there is no room.
  uint32_t Add(const LiveBlock& block) {
    if (free_ == 0) {
      // A number that is given has its link, so that Remove() needs no memory.
      return next_free_.Reserve(blocks_.size() + 1) ? blocks_.Add(block) : 0;
    }
    const uint32_t number = free_;
    free_ = next_free_.Get(number);
    blocks_.At(number) = block;
    return number;
  }
  LiveBlock At(uint32_t number) const { return blocks_.At(number); }
  // The block is live (inv.recording.live).
  void Remove(uint32_t number) {
    blocks_.At(number) = LiveBlock{};
    next_free_.Set(number, free_);
    free_ = number;
  }

 private:
  Records<LiveBlock, SegmentKind::kLive> blocks_;
  NumberArray next_free_;
  uint32_t free_ = 0;  // the last that was removed
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_LIVE_BLOCKS_H_

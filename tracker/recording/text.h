// Texts of a recording: paths, arguments, names.  Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_TEXT_H_
#define ALLOMON_TRACKER_RECORDING_TEXT_H_

#include <cstdint>

#include "tracker/recording/records.h"

namespace allomon::recording {

inline constexpr uint32_t kMostTextBytes = 4096;

class TextStore {
 public:
  void Begin(SegmentSource* source, uint32_t* used_bytes) {
    source_ = source;
    used_bytes_ = used_bytes;
  }
  void Clear() { segments_.Clear(); }

  // Cut at kMostTextBytes.  No text if there is no room.
  TextRef Add(const char* text, uint64_t length_bytes);
  const char* At(TextRef ref) const {
    return segments_.At(ref.offset / kEach) + ref.offset % kEach;
  }

 private:
  static constexpr uint32_t kEach = static_cast<uint32_t>(kSegmentBytes - sizeof(SegmentHeader));
  bool AddSegment();

  SegmentSource* source_ = nullptr;
  uint32_t* used_bytes_ = nullptr;
  SegmentList segments_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_TEXT_H_

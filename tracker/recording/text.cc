#include "tracker/recording/text.h"

#include <cstring>

#include "tracker/recording/recorder_lock.h"

namespace allomon::recording {

TextRef TextStore::Add(const char* text, uint64_t length_bytes) {
  const uint32_t length =
      length_bytes < kMostTextBytes ? static_cast<uint32_t>(length_bytes) : kMostTextBytes;
  if (length == 0) return {};
  const uint32_t end = segments_.size() * kEach;
  uint32_t offset = used_bytes_;
  if (offset + length > end) {
    if (end + length < end || !segments_.Add(source_, SegmentKind::kText)) return {};
    offset = end;  // a text lies in one segment
  }
  CountHeldStep(length / sizeof(uint64_t));
  memcpy(segments_.At(offset / kEach) + offset % kEach, text, length);
  used_bytes_ = offset + length;
  written_used_.Publish(used_bytes_);
  return {offset, length};
}

}  // namespace allomon::recording

#include "tracker/recording/text.h"

#include <cstring>

namespace allomon::recording {

TextRef TextStore::Add(const char* text, uint64_t length_bytes) {
  const uint32_t length = length_bytes < kMostTextBytes ? static_cast<uint32_t>(length_bytes)
                                                        : kMostTextBytes;
  if (length == 0) return {};
  const uint32_t end = segments_.size() * kEach;
  uint32_t offset = *used_bytes_;
  if (offset + length > end) {
    if (!AddSegment()) return {};
    offset = end;  // a text lies in one segment
  }
  const TextRef ref = {offset, length};
  memcpy(segments_.At(offset / kEach) + offset % kEach, text, length);
  *used_bytes_ = offset + length;
  return ref;
}

bool TextStore::AddSegment() {
  if (!segments_.Reserve(source_->file().segment_count())) return false;
  char* const begin = source_->Take(SegmentKind::kText, segments_.size());
  if (begin != nullptr) segments_.Add(begin);
  return begin != nullptr;
}

}  // namespace allomon::recording

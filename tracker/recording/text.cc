#include "tracker/recording/text.h"

#include <cstring>

#include "tracker/core/label_text.h"
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
  ALLOMON_DCHECK_LE("inv.recording.text", offset % kEach + length, kEach);
  CountHeldStep(length / sizeof(uint64_t));
  memcpy(segments_.At(offset / kEach) + offset % kEach, text, length);
  used_bytes_ = offset + length;
  written_used_.Publish(used_bytes_);
  return {offset, length};
}

static_assert(internal::kMostLabelTextBytes <= kMostTextBytes, "no set of labels is cut");

bool LabelTexts::Find(const LabelSet& labels, TextRef* text) {
  *text = {};
  if (labels.id() == 0) return true;
  if (!text_of_set_.Reserve(labels.id())) return false;
  uint32_t& known = text_of_set_.At(labels.id());
  if (known == 0) {
    const TextRef added = texts_->Add(labels.text().data(), labels.text().size());
    if (added.length_bytes == 0) return false;
    known = added.offset + 1;
  }
  ALLOMON_DCHECK_LE("inv.recording.text", labels.text().size(), kMostTextBytes);
  *text = {known - 1, static_cast<uint32_t>(labels.text().size())};
  return true;
}

}  // namespace allomon::recording

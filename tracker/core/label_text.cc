#include "tracker/core/label_text.h"

#include <cstring>

namespace allomon::internal {
namespace {

// Appended to a text that was cut because it was too long.
constexpr std::string_view kCutMark = "\xe2\x80\xa6";  // an ellipsis

// Returns the bytes to keep of a text longer than `most`: with the mark they take at most `most`
// bytes, and no character is split.
size_t KeptBytes(std::string_view text, size_t most) {
  size_t kept = most - kCutMark.size();
  while (kept > 0 && (static_cast<unsigned char>(text[kept]) & 0xc0) == 0x80) --kept;
  constexpr size_t kMostMoved = 3;  // of a character that has four
  return kept + kMostMoved >= most - kCutMark.size() ? kept : most - kCutMark.size();
}

char* Append(std::string_view text, char* to) {
  memcpy(to, text.data(), text.size());
  return to + text.size();
}

char* AppendWithZero(std::string_view text, bool is_cut, char* to) {
  to = Append(text, to);
  if (is_cut) to = Append(kCutMark, to);
  *to = '\0';
  return to + 1;
}

char* AppendValue(std::string_view value, char* to) {
  const bool is_cut = value.size() > kMostLabelValueBytes;
  if (is_cut) value = value.substr(0, KeptBytes(value, kMostLabelValueBytes));
  return AppendWithZero(value, is_cut, to);
}

}  // namespace

// A key that was cut before, in an interned set, equals the same key cut now.
LabelCollector::Key LabelCollector::KeyOf(std::string_view key) {
  if (key.size() > kMostLabelKeyBytes)
    return {key.substr(0, KeptBytes(key, kMostLabelKeyBytes)), true};
  const size_t stem = key.size() - kCutMark.size();
  if (key.size() < kCutMark.size() || key.substr(stem) != kCutMark) return {key, false};
  return {key.substr(0, stem), true};
}

void LabelCollector::Add(std::string_view key, std::string_view value) {
  const Key added = KeyOf(key);
  for (size_t i = 0; i < size_; ++i) {
    if (keys_[i] == added) return;
  }
  has_left_out_ |= size_ == kMostLabels;
  if (size_ == kMostLabels) return;
  has_cut_ |= key.size() > kMostLabelKeyBytes || value.size() > kMostLabelValueBytes;
  keys_[size_] = added;
  values_[size_++] = value;
}

std::string_view LabelCollector::Text(size_t others, char* room) const {
  uint8_t order[kMostLabels];
  for (size_t i = 0; i < size_; ++i) {
    size_t at = i;
    for (; at > 0 && keys_[i].stem < keys_[order[at - 1]].stem; --at) order[at] = order[at - 1];
    order[at] = static_cast<uint8_t>(i);
  }
  char* end = room;
  for (size_t i = 0; i < size_; ++i) {
    const size_t at = order[i];
    end = AppendWithZero(keys_[at].stem, keys_[at].is_cut, end);
    end = AppendValue(at < others ? LabelSet::kOther : values_[at], end);
  }
  return {room, static_cast<size_t>(end - room)};
}

}  // namespace allomon::internal

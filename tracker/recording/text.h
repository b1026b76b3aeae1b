// Texts of a recording: paths, arguments, names, sets of labels.  Under the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_TEXT_H_
#define ALLOMON_TRACKER_RECORDING_TEXT_H_

#include <cstdint>

#include "tracker/label_set.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

inline constexpr uint32_t kMostTextBytes = 4096;

class TextStore {
 public:
  void Begin(SegmentSource* source, WrittenField<uint32_t> used_bytes) {
    source_ = source;
    written_used_ = used_bytes;
    used_bytes_ = 0;
  }
  void Clear() {
    segments_.Clear();
    used_bytes_ = 0;
  }

  // Adds a text, cut at kMostTextBytes.  Returns an empty one if there is no room.
  TextRef Add(const char* text, uint64_t length_bytes);

 private:
  static constexpr uint32_t kEach = static_cast<uint32_t>(kSegmentBytes - sizeof(SegmentHeader));

  SegmentSource* source_ = nullptr;
  WrittenField<uint32_t> written_used_;
  uint32_t used_bytes_ = 0;
  SegmentList segments_;
};

// ---- The sets of labels of a recording: each is one text, which rows refer to.  Under the
// recorder's lock.

class LabelTexts {
 public:
  void Begin(TextStore* texts) { texts_ = texts; }
  void Clear() { text_of_set_.Clear(); }

  // False if there is no room.
  bool Find(const LabelSet& labels, TextRef* text);

 private:
  TextStore* texts_ = nullptr;
  OwnArray<uint32_t> text_of_set_;  // where the text begins, plus 1; by the set's id
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_TEXT_H_

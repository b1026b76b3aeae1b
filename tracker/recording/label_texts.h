// The sets of labels of a recording: each is one text, which rows refer to.  Under the recorder's
// lock.
#ifndef ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_
#define ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_

#include <cstdint>

#include "tracker/label_set.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

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

#endif  // ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_

// The sets of labels of a recording: each is one text, which rows refer to.
//
// Guarded by the recorder's lock.  Cost: a set that was seen before takes one load.
#ifndef ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_
#define ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_

#include <cstdint>

#include "tracker/label_set.h"
#include "tracker/recording/number_array.h"
#include "tracker/recording/text.h"

namespace allomon::recording {

class LabelTexts {
 public:
  void Begin(TextStore* texts) { texts_ = texts; }
  void Clear() { text_of_set_.Clear(); }

  // False if there is no room.
  bool Find(const LabelSet& labels, TextRef* text);

 private:
  bool Add(const LabelSet& labels, TextRef* text);

  TextStore* texts_ = nullptr;
  NumberArray text_of_set_;  // where the text begins, plus 1; by the set's id
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_LABEL_TEXTS_H_

#include "tracker/recording/label_texts.h"

#include "tracker/core/label_text.h"

namespace allomon::recording {

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
  *text = {known - 1, static_cast<uint32_t>(labels.text().size())};
  return true;
}

}  // namespace allomon::recording

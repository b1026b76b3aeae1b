#include "tracker/recording/label_texts.h"

#include "tracker/core/label_text.h"

namespace allomon::recording {

static_assert(internal::kMostLabelTextBytes <= kMostTextBytes, "no set of labels is cut");

bool LabelTexts::Find(const LabelSet& labels, TextRef* text) {
  *text = {};
  if (labels.id() == 0) return true;
  const uint32_t known = text_of_set_.Get(labels.id());
  if (known == 0) return Add(labels, text);
  *text = {known - 1, static_cast<uint32_t>(labels.text().size())};
  return true;
}

bool LabelTexts::Add(const LabelSet& labels, TextRef* text) {
  if (!text_of_set_.Reserve(labels.id())) return false;
  *text = texts_->Add(labels.text().data(), labels.text().size());
  if (text->length_bytes == 0) return false;
  text_of_set_.Set(labels.id(), text->offset + 1);
  return true;
}

}  // namespace allomon::recording

#include "tools/load/recording/label_table.h"

#include "tools/heap/labels.h"
#include "tracker/base/check.h"

namespace allomon::recording {
namespace {

constexpr size_t kMostLabels = 64;                          // in a set
constexpr size_t kMostLabelBytes = 4096;                    // in the text of a set
constexpr uint64_t kMostTextBytes = uint64_t{256} << 20;    // in all sets
constexpr uint64_t kMostCopiedBytes = uint64_t{512} << 20;  // in all samples

std::string_view TakeUpToZero(std::string_view* rest) {
  const std::string_view text = rest->substr(0, rest->find('\0'));
  rest->remove_prefix(text.size() < rest->size() ? text.size() + 1 : text.size());
  return text;
}

std::vector<heap::Label> LabelsOf(std::string_view text) {
  std::vector<heap::Label> labels;
  while (!text.empty() && labels.size() < kMostLabels) {
    const std::string_view key = TakeUpToZero(&text);
    labels.push_back({std::string(key), std::string(TakeUpToZero(&text))});
  }
  return labels;
}

uint64_t BytesOf(const std::vector<heap::Label>& labels) {
  uint64_t bytes = 0;
  for (const heap::Label& label : labels) {
    bytes += sizeof(label) + label.key.size() + label.value.size();
  }
  return bytes;
}

// A label that stands for sets of labels that were dropped.
constexpr char kOtherText[] = "(other)\0(other)";

}  // namespace

uint32_t LabelTable::Add(std::string_view text) {
  if (text.empty()) return 0;
  text = text.substr(0, kMostLabelBytes);
  if (text_bytes_ + text.size() <= kMostTextBytes) return AddWhole(text);
  const auto known = numbers_.find(std::string(text));
  if (known != numbers_.end()) return known->second;
  is_full_ = true;
  return AddWhole({kOtherText, sizeof kOtherText});
}

uint32_t LabelTable::AddWhole(std::string_view text) {
  const auto number = static_cast<uint32_t>(sets_.size() + 1);
  const auto [place, is_new] = numbers_.try_emplace(std::string(text), number);
  if (!is_new) return place->second;
  sets_.push_back(LabelsOf(text));
  ALLOMON_DCHECK_EQ("inv.load.numbers", sets_.size(), numbers_.size());
  text_bytes_ += text.size();
  return number;
}

std::vector<heap::Label> LabelTable::CopyOf(uint32_t number) {
  if (number == 0) return {};
  ALLOMON_DCHECK_LE("inv.load.numbers", number, sets_.size());
  const std::vector<heap::Label>& labels = sets_[number - 1];
  copied_bytes_ += BytesOf(labels);
  if (copied_bytes_ <= kMostCopiedBytes) return labels;
  is_full_ = true;
  return LabelsOf({kOtherText, sizeof kOtherText});
}

}  // namespace allomon::recording

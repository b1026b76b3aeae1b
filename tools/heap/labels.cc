#include "tools/heap/labels.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tracker/base/check.h"

namespace allomon::heap {
namespace {

bool Matches(const Sample& sample, const LabelMatch& match) {
  const std::string_view value = LabelValue(sample, match.key);
  return match.any_value ? value != kNoLabel : value == match.value;
}

// Makes locations that stand for values of a label.
class ValueFrames {
 public:
  ValueFrames(const std::string& key, HeapProfile* profile) : key_(key), profile_(*profile) {}

  uint32_t Of(std::string_view value) {
    const auto next = static_cast<uint32_t>(profile_.locations.size());
    const auto [place, is_new] = numbers_.try_emplace(std::string(value), next);
    if (is_new) Add(place->first);
    return place->second;
  }

 private:
  // Avoids parentheses, because names of functions are shown without the text in them.
  std::string NameOf(const std::string& value) const {
    // A file without sources beside one that has them, in a comparison.
    if (value == kNoLabel && key_ == kSourceKey) return key_ + "=unknown";
    if (value == kNoLabel) return "no " + key_;
    return value == kOtherLabels ? "other " + key_ : key_ + "=" + value;
  }

  void Add(const std::string& value) {
    const auto function = static_cast<uint32_t>(profile_.functions.size());
    profile_.functions.push_back({NameOf(value), "", "", 0});
    Location location;
    location.lines.push_back({function, 0});
    profile_.locations.push_back(std::move(location));
  }

  const std::string& key_;
  HeapProfile& profile_;
  std::map<std::string, uint32_t> numbers_;
};

}  // namespace

std::string_view LabelValue(const Sample& sample, std::string_view key) {
  std::string_view value = kNoLabel;
  for (const Label& label : sample.labels) {
    if (label.key == key) return label.value;
    if (label.key == kOtherLabels) value = kOtherLabels;
  }
  return value;
}

bool ParseLabelMatch(std::string_view text, LabelMatch* match) {
  const size_t equals = text.find('=');
  match->key = text.substr(0, equals);
  match->any_value = equals == std::string_view::npos;
  match->value = match->any_value ? "" : text.substr(equals + 1);
  return !match->key.empty();
}

std::optional<std::string> KeyOfBy(std::string_view text) {
  constexpr std::string_view kLabel = "label:";
  if (text == "type") return kTypeKey;
  if (text == "source") return kSourceKey;
  if (text.substr(0, kLabel.size()) != kLabel || text == kLabel) return std::nullopt;
  return std::string(text.substr(kLabel.size()));
}

bool IsSelected(const Sample& sample, const LabelSelection& selection) {
  const auto matches = [&sample](const LabelMatch& match) { return Matches(sample, match); };
  const auto is_of_focus = [&](const LabelMatch& asked) {
    return std::any_of(selection.focus.begin(), selection.focus.end(),
                       [&](const LabelMatch& one) { return one.key == asked.key && matches(one); });
  };
  return std::all_of(selection.focus.begin(), selection.focus.end(), is_of_focus) &&
         std::none_of(selection.ignore.begin(), selection.ignore.end(), matches);
}

void KeepSelected(const LabelSelection& selection, HeapProfile* profile) {
  if (selection.empty()) return;
  std::vector<Sample>& samples = profile->samples;
  samples.erase(
      std::remove_if(samples.begin(), samples.end(),
                     [&](const Sample& sample) { return !IsSelected(sample, selection); }),
      samples.end());
}

bool HasLabel(const HeapProfile& profile, std::string_view key) {
  return std::any_of(profile.samples.begin(), profile.samples.end(),
                     [key](const Sample& sample) { return LabelValue(sample, key) != kNoLabel; });
}

std::string NoSuchLabel(const HeapProfile& profile, const std::string& key) {
  if (profile.samples.empty()) {
    return "there is no sampled block, and so no label, type or source: a recording with a higher "
           "--rate, or --exact, has more";
  }
  if (key == kTypeKey) return "no block's type is known: build with g++ -g1 or clang -g";
  if (key == kSourceKey) {
    return "the sources of memory are unknown: recordings of Allomon tell them, and what it "
           "exports from them as pprof";
  }
  std::set<std::string> keys;
  for (const Sample& sample : profile.samples) {
    for (const Label& label : sample.labels) keys.insert(label.key);
  }
  std::string names;
  for (const std::string& key : keys) names += (names.empty() ? "" : ", ") + key;
  if (!names.empty()) return "no block has the label \"" + key + "\"; there is " + names;
  return "no block has labels: programs set them by allomon/labels.h";
}

std::string ApplyLabels(const LabelSelection& selection, const std::string& by,
                        HeapProfile* profile) {
  if (!by.empty() && !HasLabel(*profile, by)) return NoSuchLabel(*profile, by);
  KeepSelected(selection, profile);
  if (!by.empty()) AddLabelFrames(by, profile);
  return "";
}

void ReplaceByLabelFrames(const std::string& key, HeapProfile* profile) {
  for (Sample& sample : profile->samples) sample.stack.clear();
  AddLabelFrames(key, profile);
}

void AddLabelFrames(const std::string& key, HeapProfile* profile) {
  ValueFrames frames(key, profile);
  for (Sample& sample : profile->samples) {
    sample.stack.push_back(frames.Of(LabelValue(sample, key)));
    ALLOMON_DCHECK_LT("inv.heap.numbers", sample.stack.back(), profile->locations.size());
  }
}

}  // namespace allomon::heap

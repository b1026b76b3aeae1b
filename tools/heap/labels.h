// Labels of samples: whose memory it is.
//
// Functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_LABELS_H_
#define ALLOMON_TOOLS_HEAP_LABELS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// The value of samples that lack a label, and of those whose labels had no room (label_sets.h of
// the tracker).
inline constexpr char kNoLabel[] = "(none)";
inline constexpr char kOtherLabels[] = "(other)";

// The sample's value for a key, or one of the two above.
std::string_view LabelValue(const Sample& sample, std::string_view key);

// A label that is asked for: of that value, or of any that a sample itself has.
struct LabelMatch {
  std::string key;
  std::string value;
  bool any_value = false;
};

// "tenant=acme" or "tenant".  False if there is no key.
bool ParseLabelMatch(std::string_view text, LabelMatch* match);

// KEY of "label:KEY".
std::optional<std::string> KeyOfBy(std::string_view text);

struct LabelSelection {
  std::vector<LabelMatch> focus;   // of each key that is named, one of its values
  std::vector<LabelMatch> ignore;  // none of these

  bool empty() const { return focus.empty() && ignore.empty(); }
};

bool IsSelected(const Sample& sample, const LabelSelection& selection);

// Leaves out the samples that are not selected.
void KeepSelected(const LabelSelection& selection, HeapProfile* profile);

bool HasLabel(const HeapProfile& profile, std::string_view key);

// Puts the value of a label outside of each stack, as a frame of its own: "tenant=acme",
// "no tenant", "other tenant".
void AddLabelFrames(const std::string& key, HeapProfile* profile);
// In place of the stacks: samples of one value have one stack.
void ReplaceByLabelFrames(const std::string& key, HeapProfile* profile);

// One line for a profile in which no sample has the key: which keys there are.
std::string NoSuchLabel(const HeapProfile& profile, const std::string& key);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_LABELS_H_

// Labels of samples, which say to whom memory belongs.
//
// All are functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_LABELS_H_
#define ALLOMON_TOOLS_HEAP_LABELS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/heap/heap_profile.h"

namespace allomon::heap {

// The value of samples that lack a label, and the value of samples whose labels had no room
// (label_sets.h of the tracker).
inline constexpr char kNoLabel[] = "(none)";
inline constexpr char kOtherLabels[] = "(other)";

// The label with the block's type, if it is known (computed_label.h).  Its key is no identifier, so
// that no program's own label is likely to have it.
inline constexpr char kTypeKey[] = "C++ type";
// The same for the origin of memory: malloc, the managed heap, and so on (computed_label.h).
inline constexpr char kSourceKey[] = "memory source";

// Returns the sample's value for a key, or one of the two above.
std::string_view LabelValue(const Sample& sample, std::string_view key);

// A label in an option: with this value, or with any value that is set on the sample itself.
struct LabelMatch {
  std::string key;
  std::string value;
  bool any_value = false;
};

// Parses "tenant=acme" or "tenant".  False if the key is empty.
bool ParseLabelMatch(std::string_view text, LabelMatch* match);

// Returns KEY of "label:KEY", kTypeKey of "type", and kSourceKey of "source".
std::optional<std::string> KeyOfBy(std::string_view text);

struct LabelSelection {
  std::vector<LabelMatch> focus;   // the sample must have, for each key here, one of its values
  std::vector<LabelMatch> ignore;  // the sample must not have any of these

  bool empty() const { return focus.empty() && ignore.empty(); }
};

bool IsSelected(const Sample& sample, const LabelSelection& selection);

// Removes the samples that are not selected.
void KeepSelected(const LabelSelection& selection, HeapProfile* profile);

bool HasLabel(const HeapProfile& profile, std::string_view key);

// Adds the value of a label to each stack as its outermost frame: "tenant=acme", "no tenant",
// "other tenant".
void AddLabelFrames(const std::string& key, HeapProfile* profile);
// Replaces each stack by such a frame: samples of one value have one stack.
void ReplaceByLabelFrames(const std::string& key, HeapProfile* profile);

// Keeps the selected samples, and adds the values of the label `by`, unless that is empty, as
// outermost frames.  Returns NoSuchLabel(), and changes nothing, if no sample has that label; else
// an empty text.
std::string ApplyLabels(const LabelSelection& selection, const std::string& by,
                        HeapProfile* profile);

// Returns one line for a profile in which no sample has the key.  It names the existing keys.
std::string NoSuchLabel(const HeapProfile& profile, const std::string& key);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_LABELS_H_

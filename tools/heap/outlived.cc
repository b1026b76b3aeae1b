#include "tools/heap/outlived.h"

#include <algorithm>
#include <vector>

#include "tools/heap/born.h"
#include "tools/heap/labels.h"
#include "tools/text/amounts.h"

namespace allomon::heap {
namespace {

bool IsChosen(const OutlivedCell& cell, const Sample& sample, const std::string& key) {
  return key.empty() ? cell.is_innermost : sample.labels[cell.label].key == key;
}

void KeepOfSample(const std::string& key, Sample* sample) {
  sample->amounts = {};
  sample->deaths.clear();
  sample->ages.clear();
  sample->sizes.clear();  // of all live blocks
  for (const OutlivedCell& cell : sample->outlived) {
    if (!IsChosen(cell, *sample, key)) continue;
    sample->ages.push_back(cell.since_end);
    (*sample)[Metric::kLive].Add(cell.since_end.amount);
  }
}

// Returns the time since the end that half of the bytes have reached, at least.
double MedianSeconds(const HeapProfile& profile) {
  std::vector<AgeCell> cells;
  double whole = 0;
  for (const Sample& sample : profile.samples) {
    cells.insert(cells.end(), sample.ages.begin(), sample.ages.end());
    whole += sample[Metric::kLive].bytes;
  }
  std::sort(cells.begin(), cells.end(), [](const AgeCell& a, const AgeCell& b) {
    return AgesOf(a).youngest_seconds > AgesOf(b).youngest_seconds;
  });
  double sum = 0;
  for (const AgeCell& cell : cells) {
    sum += cell.amount.bytes;
    if (2 * sum >= whole) return AgesOf(cell).youngest_seconds;
  }
  return 0;
}

std::string NoteOf(const std::string& key, const HeapProfile& profile) {
  std::string note = "only what is live of " + (key.empty() ? "labels" : "the label " + key) +
                     " whose scope has ended";
  if (profile.samples.empty()) return note + ": nothing";
  return note + "; half of it ended at least " + report::SecondsText(MedianSeconds(profile)) +
         " before the end";
}

}  // namespace

std::string KeepOutlived(const Outlived& outlived, HeapProfile* profile) {
  if (!outlived.is_asked) return "";
  if (!profile->has_ends) {
    return "no end of a scope is known: open scopes with ScopedLabel(key, value, allomon::kEnds)";
  }
  const bool has_key = outlived.key.empty() || HasLabel(*profile, outlived.key);
  if (!has_key) profile->notes.push_back(NoSuchLabel(*profile, outlived.key));
  for (Sample& sample : profile->samples) KeepOfSample(outlived.key, &sample);
  KeepLiveAlone(profile);
  profile->notes.push_back(NoteOf(outlived.key, *profile));
  return "";
}

}  // namespace allomon::heap

#include "tools/heap/born.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/charconv.h"
#include "tools/heap/labels.h"
#include "tools/text/amounts.h"

namespace allomon::heap {
namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr double kForEver = std::numeric_limits<double>::infinity();

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}};

std::optional<double> ParseSeconds(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of("0123456789."), text.size());
  if (begin == 0 || text[0] == '.') return std::nullopt;
  const char* const end = text.data() + begin;
  double number = 0;
  const auto [rest, error] = absl::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  for (const Unit& unit : kUnits) {
    if (text.substr(begin) == unit.name) return number * unit.seconds;
  }
  return std::nullopt;
}

std::string BytesText(double bytes) {
  constexpr double kMost = 1e18;  // fits MlmonInt
  const double bounded = std::isnan(bytes) ? 0 : std::clamp(bytes, 0.0, kMost);
  return report::Amount(ProfileKind::kAlloc, std::llround(bounded));
}

bool Meet(const Born& a, const Born& b) {
  return a.youngest_seconds < b.oldest_seconds && b.youngest_seconds < a.oldest_seconds;
}

// The sample's live blocks are those of its cells.
void KeepOfSample(const Born& born, Born* kept, Sample* sample) {
  std::vector<AgeCell>& ages = sample->ages;
  ages.erase(std::remove_if(ages.begin(), ages.end(),
                            [&](const AgeCell& cell) { return !Meet(AgesOf(cell), born); }),
             ages.end());
  sample->deaths.clear();
  sample->sizes.clear();  // of blocks of all ages
  sample->outlived.clear();
  sample->amounts = {};
  for (const AgeCell& cell : ages) {
    const Born class_ages = AgesOf(cell);
    kept->youngest_seconds = std::min(kept->youngest_seconds, class_ages.youngest_seconds);
    kept->oldest_seconds = std::max(kept->oldest_seconds, class_ages.oldest_seconds);
    (*sample)[Metric::kLive].Add(cell.amount);
  }
}

// Returns the least and the most that may have been allocated until then: the points say nothing of
// the time between them.
std::pair<double, double> BoundsUntil(const std::vector<TimelinePoint>& timeline, double seconds) {
  const auto after = std::lower_bound(
      timeline.begin(), timeline.end(), seconds,
      [](const TimelinePoint& point, double time) { return point.seconds < time; });
  const double least = after == timeline.begin() ? 0 : std::prev(after)->allocated_bytes;
  if (after == timeline.end()) return {least, least};
  return {after->seconds == seconds ? after->allocated_bytes : least, after->allocated_bytes};
}

std::string NoteOf(const Born& born, const HeapProfile& profile) {
  using report::SecondsText;
  const char* const the_end = profile.is_sum ? "each process's end" : "the end";
  const double end = profile.duration_seconds;
  const bool from_start = born.oldest_seconds == kForEver || (end > 0 && born.oldest_seconds > end);
  const auto before_end = [the_end](double seconds) {
    return SecondsText(seconds) + " before " + the_end;
  };
  std::string note = "only what is live of blocks born ";
  note += from_start ? "from the start" : "from " + before_end(born.oldest_seconds);
  note += " until " + (born.youngest_seconds > 0 ? before_end(born.youngest_seconds) : the_end);
  // The timeline is one process's.
  if (profile.timeline.empty() || profile.is_sum || end <= 0) return note;
  const auto [least_until, most_until] = BoundsUntil(profile.timeline, end - born.youngest_seconds);
  const auto [least_before, most_before] =
      from_start ? std::pair<double, double>()
                 : BoundsUntil(profile.timeline, end - born.oldest_seconds);
  const std::string least = BytesText(least_until - most_before);
  const std::string most = BytesText(most_until - least_before);
  return note + "; " + (least == most ? most : least + " to " + most) +
         " were allocated in that time";
}

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

std::optional<Born> ParseBorn(std::string_view text) {
  const size_t dots = text.find("..");
  if (dots == text.npos) return std::nullopt;
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  if (first.empty() && last.empty()) return std::nullopt;
  const auto oldest = first.empty() ? kForEver : ParseSeconds(first);
  const auto youngest = last.empty() ? 0 : ParseSeconds(last);
  if (!oldest.has_value() || !youngest.has_value()) return std::nullopt;
  // Both orders are meant in the same way.
  const Born born = {std::max(*oldest, *youngest), std::min(*oldest, *youngest)};
  if (!(born.youngest_seconds < born.oldest_seconds)) return std::nullopt;
  return born;
}

std::string KeepBorn(const Born& born, HeapProfile* profile) {
  if (born.is_all()) return "";
  const bool has_ages = std::any_of(profile->samples.begin(), profile->samples.end(),
                                    [](const Sample& sample) { return !sample.ages.empty(); });
  if (!has_ages) {
    return "no age is known: --born needs a recording with live blocks (allomon run -- PROGRAM)";
  }
  // Classes reach beyond the time's ends.
  Born kept = {born.oldest_seconds == kForEver ? 0 : born.oldest_seconds, born.youngest_seconds};
  for (Sample& sample : profile->samples) KeepOfSample(born, &kept, &sample);
  if (born.oldest_seconds == kForEver) kept.oldest_seconds = kForEver;
  profile->notes.push_back(NoteOf(kept, *profile));
  KeepLiveAlone(profile);
  return "";
}

void KeepAgedAlone(HeapProfile* profile) {
  for (Sample& sample : profile->samples) {
    sample.deaths.clear();
    sample.sizes.clear();  // of all live blocks
    sample.amounts = {};
    for (const AgeCell& cell : sample.ages) sample[Metric::kLive].Add(cell.amount);
  }
  KeepLiveAlone(profile);
}

void KeepLiveAlone(HeapProfile* profile) {
  profile->samples.erase(std::remove_if(profile->samples.begin(), profile->samples.end(),
                                        [](const Sample& sample) { return sample.ages.empty(); }),
                         profile->samples.end());
  profile->has = {};
  profile->has[static_cast<size_t>(Metric::kLive)] = true;
  profile->threads.clear();
  profile->timeline.clear();
  profile->peak_seconds = 0;
  profile->has_halves = false;
}

Born AgesOf(const AgeCell& cell) {
  const double log2 = cell.log2_nanos;
  if (cell.eighth == 0) {
    const double youngest = cell.log2_nanos == 0 ? 0 : std::exp2(log2) / kNanosPerSecond;
    return {std::exp2(log2 + 1) / kNanosPerSecond, youngest};
  }
  return {std::exp2(log2 + cell.eighth / 8.0) / kNanosPerSecond,
          std::exp2(log2 + (cell.eighth - 1) / 8.0) / kNanosPerSecond};
}

Sample OfCell(const Sample& sample, const AgeCell& cell) {
  Sample part;
  part.has_header = sample.has_header;
  part.size_bytes = sample.size_bytes;
  part.ages = {cell};
  part[Metric::kLive] = cell.amount;
  return part;
}

uint8_t EighthOf(uint64_t nanos) {
  if (nanos < 2) return 0;
  const double log2 = std::log2(static_cast<double>(nanos));
  // An age that rounds up to a power of two is in the last eighth below it.
  const double part = log2 - (63 - __builtin_clzll(nanos));
  return static_cast<uint8_t>(1 + std::min(7.0, std::floor(part * 8)));
}

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

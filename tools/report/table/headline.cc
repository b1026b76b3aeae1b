#include "tools/report/table/headline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "tools/heap/heap_profile.h"
#include "tools/heap/missing.h"
#include "tools/heap/program_name.h"
#include "tools/report/table/cells.h"
#include "tracker/base/check.h"
#include "tracker/names/base_name.h"

namespace allomon::views {
namespace {

using heap::HeapProfile;
using heap::Metric;

// The resident memory at the end of the timeline's interval in which the peak was; 0: not known.
double ResidentAtPeak(const HeapProfile& profile) {
  const auto point = std::find_if(
      profile.timeline.begin(), profile.timeline.end(),
      [&](const heap::TimelinePoint& at) { return at.seconds >= profile.peak_seconds; });
  return point == profile.timeline.end() ? 0 : point->resident_bytes;
}

// The file of a process that runs is opened below /proc/PID/root; people know it by the name that
// it has there.
std::string NameOfFile(const std::string& path) {
  constexpr std::string_view kProc = "/proc/", kRoot = "/root/";
  if (path.compare(0, kProc.size(), kProc) != 0) return path;
  const size_t end = path.find_first_not_of("0123456789", kProc.size());
  const bool is_below_root =
      end != std::string::npos && end > kProc.size() && path.compare(end, kRoot.size(), kRoot) == 0;
  return is_below_root ? path.substr(end + kRoot.size() - 1) : path;
}

std::string Formatted(const char* format, double value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return text;
}

constexpr Metric kTotals[] = {Metric::kAllocated, Metric::kPeak, Metric::kLive};

std::string RateText(const HeapProfile& profile) {
  if (profile.rate <= 0) return "the rate of sampling is not known: rows have no intervals";
  if (profile.rate >= 1) {
    return profile.missing.samples > 0
               ? "every block was to be counted, but some found no room: rows are not exact"
               : "every block was counted: rows are exact";
  }
  return "sampled about every " + AmountText(8 / profile.rate, false) +
         "; in 95 of 100 runs the truth is in the interval";
}

std::string WordsText(const WordsError& error) {
  return "measured error: estimate of words " + Formatted("%+.1f %%", error.Percent()) +
         " of the exact " + Formatted("%.3g", error.exact) +
         (error.IsWithin() ? ", within its interval" : ", out of its interval");
}

void AddFacts(const Scene& scene, Report* report) {
  const HeapProfile& profile = *scene.profile;
  const auto add = [report](const std::string& key, Data data) {
    report->facts.push_back({key, std::move(data)});
  };
  add("program", profile.program);
  add("pid", static_cast<double>(profile.pid));
  add("allocator", profile.allocator);
  add("malloc_file", profile.malloc_file);
  add("metric", std::string(heap::MetricName(scene.measure.metric)));
  add("unit", std::string(scene.measure.blocks ? "blocks" : "bytes"));
  add("rate", profile.rate);
  add("seconds", profile.duration_seconds);
  for (const Metric metric : kTotals) {
    if (!Has(profile, metric)) continue;
    const heap::Estimate total = heap::EstimateOfAll(profile, metric);
    const heap::Interval interval = heap::BytesInterval(total);
    const std::string name = heap::MetricName(metric);
    add(name + "_bytes", total.amount.bytes);
    add(name + "_bytes_low", interval.low);
    add(name + "_bytes_high", interval.high);
    add(name + "_bytes_sure", heap::IsSure(total));
    if (profile.has_blocks) add(name + "_blocks", total.amount.blocks);
  }
  const WordsError error = WordsErrorOf(profile);
  if (error.exact > 0) {
    add("exact_words", error.exact);
    add("estimated_words", error.estimated);
  }
  for (const heap::MissingKind& kind : heap::kMissingKinds) {
    add(kind.key, profile.missing.*kind.count);
  }
  add("is_sum", profile.is_sum);
  if (profile.memory.resident_bytes > 0) {
    add("resident_bytes", profile.memory.resident_bytes);
    add("resident_live_bytes", profile.memory.live_bytes);
    add("resident_bytes_at_most", profile.memory.most_resident_bytes);
    add("resident_seconds", profile.memory.seconds);
    if (ResidentAtPeak(profile) > 0) add("resident_bytes_at_peak", ResidentAtPeak(profile));
  }
}

std::string ViewText(const Scene& scene) {
  const double selected = ValueOf(scene.selected.amount, scene.measure.blocks);
  const double whole = ValueOf(scene.whole.amount, scene.measure.blocks);
  std::string text =
      std::string(scene.measure.blocks ? "blocks " : "bytes ") + MetricPhrase(scene.measure.metric);
  if (selected != whole) {
    text += ", of the chosen stacks: " + EstimateText(scene.selected, scene.measure.blocks) + ", " +
            PercentText(PercentOf(selected, whole));
  }
  return text;
}

// Empty for what is usual: mimalloc in the place of the C library's malloc.
std::string AllocatorText(const HeapProfile& profile) {
  const std::string file = BaseName(profile.malloc_file);
  if (profile.allocator == "host") {
    return "malloc is the program's own" + (file.empty() ? "" : ", of " + file);
  }
  if (file.empty() || profile.allocator.empty()) return "";
  return "malloc is " + profile.allocator + " in the place of " + file +
         ": allomon run --keep-malloc keeps that";
}

// "RSS 760 MiB, of which live 217 MiB, after 2.0 s; RSS at most 801 MiB"; empty where it is
// not known.
std::string ResidentText(const HeapProfile& profile) {
  const heap::ProcessMemory& memory = profile.memory;
  if (memory.resident_bytes <= 0) return "";
  const std::string live = AmountText(memory.live_bytes, false);
  std::string text = "RSS " + AmountText(memory.resident_bytes, false);
  text += memory.live_bytes <= memory.resident_bytes
              ? ", of which live " + live
              : " beside " + live + " live, which need not all be resident";
  text += ", after " + SecondsText(memory.seconds);
  if (memory.most_resident_bytes > memory.resident_bytes) {
    text += "; RSS at most " + AmountText(memory.most_resident_bytes, false);
  }
  if (const double at_peak = ResidentAtPeak(profile); at_peak > 0) {
    text += "; RSS " + AmountText(at_peak, false) + " at the peak of live blocks";
  }
  return text;
}

}  // namespace

bool WordsError::IsWithin() const {
  const heap::Interval interval = heap::IntervalOf(estimated, variance);
  return interval.low <= exact && exact <= interval.high;
}

WordsError WordsErrorOf(const HeapProfile& profile) {
  WordsError error;
  for (const heap::Thread& thread : profile.threads) {
    error.exact += thread.exact_words;
    error.estimated += thread.estimated_words;
    // A profile of another tool may say anything; a value that is no variance adds nothing.
    error.variance += std::max(0.0, thread.estimated_words_variance);
  }
  ALLOMON_DCHECK("inv.heap.variance", error.variance >= 0);
  return error;
}

std::string TitleOf(const HeapProfile& profile, const std::vector<std::string>& files) {
  std::string title = files.empty() ? "profile" : NameOfFile(files.front());
  if (files.size() > 1) title += " and " + MoreText(files.size() - 1, "file");
  std::string about = heap::ProgramName(profile.program, profile.command);
  if (profile.pid != 0 && files.size() == 1) about += " (pid " + std::to_string(profile.pid) + ")";
  if (profile.duration_seconds > 0) {
    about += (about.empty() ? "" : ", ") + SecondsText(profile.duration_seconds);
  }
  return title + (about.empty() ? "" : ": " + about);
}

std::string TotalsText(const HeapProfile& profile) {
  std::string text;
  for (const Metric metric : kTotals) {
    if (!Has(profile, metric)) continue;
    const bool is_sum_of_peaks = metric == Metric::kPeak && profile.is_sum;
    const heap::Estimate total = heap::EstimateOfAll(profile, metric);
    const bool is_seen = total.amount.bytes > 0;
    text += (text.empty() ? "" : ", ") + std::string(is_sum_of_peaks && is_seen ? "at most " : "") +
            EstimateText(total, false) + " " + MetricPhrase(metric);
    if (is_sum_of_peaks) {
      text += ", the peaks of its processes added";
    } else if (metric == Metric::kPeak && is_seen && profile.peak_seconds > 0) {
      text += ", after " + SecondsText(profile.peak_seconds);
    }
  }
  return text.empty() ? "nothing was counted" : text;
}

void AddFormat(const std::string& command, View view, Report* report) {
  report->facts.push_back({"format", "allomon " + command});
  report->facts.push_back({"version", kJsonVersion});
  report->facts.push_back({"view", ViewName(view)});
}

void AddHeadline(const Scene& scene, Report* report) {
  const HeapProfile& profile = *scene.profile;
  report->notes.insert(report->notes.end(), profile.notes.begin(), profile.notes.end());
  const std::string missing = heap::MissingText(profile.missing);
  if (!missing.empty()) report->notes.push_back(missing);
  if (scene.stacks.cut) report->notes.push_back("stacks were cut: the profile is too large");
  AddFacts(scene, report);
  report->head.push_back({TitleOf(profile, scene.options->files), Paint::kBold});
  report->head.push_back({TotalsText(profile), Paint::kBold});
  const std::string resident = ResidentText(profile);
  if (!resident.empty()) report->head.push_back({resident, Paint::kBold});
  report->head.push_back({RateText(profile), Paint::kDim});
  const std::string allocator = AllocatorText(profile);
  if (!allocator.empty()) report->head.push_back({allocator, Paint::kDim});
  const WordsError error = WordsErrorOf(profile);
  if (error.exact > 0) {
    report->head.push_back({WordsText(error), error.IsWithin() ? Paint::kDim : Paint::kWarm});
  }
  report->head.push_back({ViewText(scene), Paint::kPlain});
}

}  // namespace allomon::views

#include "tools/heap/join.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>

#include "tools/heap/interval.h"
#include "tools/heap/sum_check.h"
#include "tracker/base/check.h"

namespace allomon::heap {
namespace {

Amount TotalOf(const HeapProfile& profile, Metric metric) {
  Amount total;
  for (const Sample& sample : profile.samples) total.Add(Bounded(sample[metric]));
  return total;
}

// Returns the index in the joined table, where the other profile's entries follow the existing
// ones.
uint32_t Moved(uint32_t number, size_t there, size_t others) {
  return number < others ? static_cast<uint32_t>(there + number) : kNone;
}

// Whether `joined` has the samples of both, of which it had `before` already.
[[maybe_unused]] bool HasAll(const Amount& before, const HeapProfile& other, Metric metric,
                             const HeapProfile& joined) {
  SumCheck sum;
  sum.Add(before);
  for (const Sample& sample : other.samples) sum.Add(Bounded(sample[metric]));
  return sum.Is(TotalOf(joined, metric));
}

// A text that samples with the same stack, size, source, type, thread and labels have in common.
std::string KeyOf(const HeapProfile& profile, const Sample& sample) {
  std::string key = std::to_string(sample.size_bytes) + (sample.has_header ? "h" : "n") +
                    std::to_string(static_cast<int>(sample.source));
  if (sample.thread < profile.threads.size()) {
    key += std::to_string(profile.threads[sample.thread].tid);
  }
  const auto add = [&key](const std::string& text) {
    key += ";" + std::to_string(text.size()) + ":" + text;
  };
  for (const uint32_t number : sample.stack) {
    const Location& location = profile.locations[number];
    key += "@" + std::to_string(location.address);
    if (location.mapping < profile.mappings.size()) add(profile.mappings[location.mapping].path);
    if (location.address != 0) continue;
    for (const Line& line : location.lines) {
      key += "!" + std::to_string(line.line);
      add(profile.functions[line.function].name);
      add(profile.functions[line.function].file);
    }
  }
  add(sample.type);
  for (const Label& label : sample.labels) {
    add(label.key);
    add(label.value);
  }
  return key;
}

// Takes as much of `earlier` from the amount as that has.
void Take(Amount* earlier, Amount* amount) {
  const auto take = [](double* from, double* value) {
    const double taken = std::clamp(*from, 0.0, std::max(*value, 0.0));
    *from -= taken;
    *value = std::max(0.0, *value - taken);
  };
  take(&earlier->blocks, &amount->blocks);
  take(&earlier->bytes, &amount->bytes);
}

}  // namespace

void AppendSamples(const HeapProfile& other, HeapProfile* joined) {
  [[maybe_unused]] Amount before;
  if constexpr (internal::kDebugChecks) before = TotalOf(*joined, Metric::kAllocated);
  const size_t functions = joined->functions.size();
  const size_t mappings = joined->mappings.size();
  const size_t locations = joined->locations.size();
  const size_t threads = joined->threads.size();
  const auto append = [](const auto& from, auto* to) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(other.functions, &joined->functions);
  append(other.mappings, &joined->mappings);
  append(other.threads, &joined->threads);
  for (Location location : other.locations) {
    location.mapping = Moved(location.mapping, mappings, other.mappings.size());
    for (Line& line : location.lines) {
      line.function = Moved(line.function, functions, other.functions.size());
    }
    joined->locations.push_back(std::move(location));
  }
  for (Sample sample : other.samples) {
    for (uint32_t& frame : sample.stack) frame = Moved(frame, locations, other.locations.size());
    sample.thread = Moved(sample.thread, threads, other.threads.size());
    joined->samples.push_back(std::move(sample));
  }
  ALLOMON_DCHECK("inv.heap.sum", HasAll(before, other, Metric::kAllocated, *joined));
}

void AddProfile(const HeapProfile& other, HeapProfile* sum) {
  AppendSamples(other, sum);
  for (size_t i = 0; i < kMetrics; ++i) sum->has[i] = sum->has[i] && other.has[i];
  sum->has_blocks = sum->has_blocks && other.has_blocks;
  sum->is_sum = true;
  sum->memory = {};
  if (sum->rate != other.rate) {
    if (sum->rate != 0 && other.rate != 0) {
      sum->notes.push_back("the files have different rates of sampling: rows have no intervals");
    }
    sum->rate = 0;
  }
  sum->timeline.clear();
  sum->peak_seconds = 0;
  sum->pid = 0;
  sum->duration_seconds = std::max(sum->duration_seconds, other.duration_seconds);
  sum->missing.Add(other.missing);
  sum->has_ends = sum->has_ends || other.has_ends;
  sum->has_halves = sum->has_halves || other.has_halves;  // the larger variance of the two
  for (const std::string& note : other.notes) {
    if (std::find(sum->notes.begin(), sum->notes.end(), note) == sum->notes.end()) {
      sum->notes.push_back(note);
    }
  }
}

void KeepSince(const HeapProfile& before, HeapProfile* profile) {
  constexpr Metric kGrowing[] = {Metric::kAllocated, Metric::kTemporary};
  std::unordered_map<std::string, std::array<Amount, kMetrics>> earlier;
  for (const Sample& sample : before.samples) {
    std::array<Amount, kMetrics>& sum = earlier[KeyOf(before, sample)];
    for (const Metric metric : kGrowing) sum[static_cast<size_t>(metric)].Add(sample[metric]);
  }
  for (Sample& sample : profile->samples) {
    sample.deaths.clear();
    const auto found = earlier.find(KeyOf(*profile, sample));
    for (size_t i = 0; i < kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      const bool grows =
          std::find(std::begin(kGrowing), std::end(kGrowing), metric) != std::end(kGrowing);
      if (!grows && metric != Metric::kLive) sample[metric] = {};
      // Several samples may have one key: those of processes with the same addresses, as forked
      // ones have.  The earlier amount of them all is taken once.
      if (grows && found != earlier.end()) Take(&found->second[i], &sample[metric]);
    }
  }
  for (const Metric metric : {Metric::kPeak, Metric::kPromoted, Metric::kDiedYoung}) {
    profile->has[static_cast<size_t>(metric)] = false;
  }
  profile->threads.clear();
  for (Sample& sample : profile->samples) sample.thread = kNone;
  profile->timeline.clear();
  profile->peak_seconds = 0;
  profile->has_halves = false;
  const double seconds = std::max(0.0, profile->duration_seconds - before.duration_seconds);
  profile->start_unix_nanos += static_cast<int64_t>(before.duration_seconds * 1e9);
  profile->duration_seconds = seconds;
}

}  // namespace allomon::heap

#include "tools/heap/join.h"

#include <algorithm>
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
  sum->has_halves = sum->has_halves || other.has_halves;  // the larger variance of the two
  for (const std::string& note : other.notes) {
    if (std::find(sum->notes.begin(), sum->notes.end(), note) == sum->notes.end()) {
      sum->notes.push_back(note);
    }
  }
}

}  // namespace allomon::heap

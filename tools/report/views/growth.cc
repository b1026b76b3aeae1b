#include "tools/report/views/growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "tools/heap/born.h"
#include "tools/heap/sum_check.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

constexpr double kNanosPerSecond = 1e9;
constexpr double kLeastRunNanos = 16;
constexpr double kSigmas = 1.959963985;  // 95 % of the normal distribution
constexpr double kMostRunNanos = 9e18;   // fits 64 bits
constexpr int kEighths = 8;              // of a power of two
// Generations by time are taken if the program allocated in them a quarter of the run's mean.
constexpr double kLeastShareOfMean = 0.25;
// The shares of all allocated bytes between which generations by allocation lie.
constexpr double kYoungShare = 0.125;
constexpr double kHalf = 0.5;
// Generations that hold a smaller share tell nothing.
constexpr double kLeastShare = 1.0 / 64;
constexpr double kNearlyAll = 0.9;
// Eight lives that are each longer than an eighth of the run do not fit into it, and the last table
// lives.
constexpr double kMostOutgrown = 7;
// A table that doubles has outgrown earlier ones.  Half of their bytes are in the last of them,
// which lived for a quarter of the run or longer.
constexpr double kLeastOldShare = 0.4;

// Returns the share of the run's old deaths that falls into a time as long as the generations span.
double DeathShare(const Generations& generations) {
  return generations.nanos / generations.old_nanos;
}

double Square(double x) { return x * x; }

// Returns the interval of an estimate.  Even if no sample was taken, a few samples' worth of bytes
// may exist.  The weight of a sample is then taken from other blocks of the same function, `like`.
heap::Interval IntervalOf(const heap::Estimate& estimate, const heap::Estimate& like) {
  if (estimate.amount.bytes > 0 || !(like.bytes_variance > 0)) return heap::BytesInterval(estimate);
  return {0, Square(kSigmas) * like.bytes_third / like.bytes_variance};
}

// Returns the interval of a - share * b from the intervals of a and b (the method of variance
// estimates recovery; Zou and Donner 2008).  Intervals of few samples are asymmetric, and this
// method keeps that.
heap::Interval DifferenceInterval(const Growth& growth, double share) {
  const heap::Estimate &a = growth.recent, &b = growth.died;
  const heap::Interval of_a = IntervalOf(a, growth.live), of_b = heap::BytesInterval(b);
  const double difference = a.amount.bytes - share * b.amount.bytes;
  const heap::Interval interval = {
      difference - std::sqrt(Square(a.amount.bytes - of_a.low) +
                             Square(share * (of_b.high - b.amount.bytes))),
      difference + std::sqrt(Square(of_a.high - a.amount.bytes) +
                             Square(share * (b.amount.bytes - of_b.low)))};
  ALLOMON_DCHECK("inv.heap.interval", interval.low <= difference && difference <= interval.high);
  return interval;
}

double NanosOf(int border) { return std::exp2(static_cast<double>(border) / kEighths); }

// The classes of live blocks by age: all of a class are on one side of any border that is taken.
int YoungestBorder(const heap::AgeCell& cell) {
  return kEighths * cell.log2_nanos + (cell.eighth == 0 ? 0 : cell.eighth - 1);
}

// Lifetimes are known to a factor of two: the middle of the class decides.
bool IsOld(const heap::AgeCell& death, const Generations& generations) {
  return kEighths * death.log2_nanos + kEighths / 2 >= generations.first;
}

// The bytes that the program allocated until the end of the run.
class Allocation {
 public:
  Allocation(double run_nanos, const std::vector<heap::TimelinePoint>& timeline)
      : run_nanos_(run_nanos),
        timeline_(timeline),
        bytes_(timeline.empty() ? 0 : timeline.back().allocated_bytes) {}

  bool is_known() const { return bytes_ > 0; }
  // Returns the share of all allocated bytes that is younger than this border, from 0 to 1 also
  // where the timeline of another tool falls or has no numbers.
  double YoungerShare(int border) const {
    const double seconds = (run_nanos_ - NanosOf(border)) / kNanosPerSecond;
    const double older = AllocatedUntil(timeline_, std::max(0.0, seconds)) / bytes_;
    return std::isnan(older) ? 0 : std::clamp(1 - older, 0.0, 1.0);
  }

 private:
  const double run_nanos_;
  const std::vector<heap::TimelinePoint>& timeline_;
  const double bytes_;
};

// Chooses the generations in which from an eighth to a half of all was allocated since.  `step` is
// the distance of two borders.
Generations GenerationsByAllocation(double run_nanos, const Allocation& allocation, int step) {
  Generations generations;
  for (int border = 0; NanosOf(border) <= run_nanos; border += step) {
    const double younger = allocation.YoungerShare(border);
    if (younger < kYoungShare) generations.first = border + step;
    if (younger <= kHalf) generations.end = border;
  }
  generations.end = std::max(generations.first, generations.end);
  const double younger = allocation.YoungerShare(generations.first);
  const double share = allocation.YoungerShare(generations.end) - younger;
  generations.is_silent = share < kLeastShare;
  generations.is_by_allocation = !generations.is_silent;
  if (generations.is_silent) return generations;
  generations.nanos = generations.work_nanos = share * run_nanos;
  generations.old_nanos = generations.old_work_nanos = (1 - younger) * run_nanos;
  generations.eighth_nanos = NanosOf(generations.first);
  generations.half_nanos = NanosOf(generations.end);
  ALLOMON_DCHECK("inv.report.part", 0 < generations.nanos && generations.nanos <= run_nanos);
  return generations;
}

// The blocks of one site.
class SiteBlocks {
 public:
  void Add(const heap::Sample& sample, const heap::Sampling& sampling,
           const Generations& generations) {
    has_sizes_ = has_sizes_ && sample.has_size;
    live_.Add(heap::EstimateOf(sample[heap::Metric::kLive], sample, sampling));
    live_bytes_[sample.size_bytes] += sample[heap::Metric::kLive].bytes;
    for (const heap::AgeCell& death : sample.deaths) {
      all_died_bytes_ += death.amount.bytes;
      if (!IsOld(death, generations)) continue;
      died_.Add(death.amount);
      died_bytes_[sample.size_bytes] += death.amount.bytes;
    }
  }

  bool GrowInSteps() const {
    if (!has_sizes_ || !(died_.bytes > 0) || !heap::IsSure(live_)) return false;
    if (died_.blocks > kMostOutgrown * live_.amount.blocks) return false;
    if (died_.bytes < kLeastOldShare * all_died_bytes_) return false;
    const uint64_t least_live_size = LeastLiveSize();
    double smaller = 0;
    for (const auto& [size, bytes] : died_bytes_) smaller += size < least_live_size ? bytes : 0;
    return smaller >= kNearlyAll * died_.bytes;
  }

 private:
  // Returns the size for which smaller blocks have at most a tenth of the live bytes.
  uint64_t LeastLiveSize() const {
    double smaller = 0;
    for (const auto& [size, bytes] : live_bytes_) {
      smaller += bytes;
      if (smaller > (1 - kNearlyAll) * live_.amount.bytes) return size;
    }
    return 0;
  }

  bool has_sizes_ = true;
  heap::Estimate live_;
  heap::Amount died_;                      // old
  double all_died_bytes_ = 0;              // of any age
  std::map<uint64_t, double> live_bytes_;  // by size
  std::map<uint64_t, double> died_bytes_;  // of those that died old
};

double NetBytes(const Growth& growth, const Generations& generations) {
  return growth.recent.amount.bytes - DeathShare(generations) * growth.died.amount.bytes;
}

}  // namespace

double AllocatedUntil(const std::vector<heap::TimelinePoint>& timeline, double seconds) {
  heap::TimelinePoint before;
  for (const heap::TimelinePoint& point : timeline) {
    if (point.seconds >= seconds) {
      const double span = point.seconds - before.seconds;
      const double share = span > 0 ? (seconds - before.seconds) / span : 1;
      return before.allocated_bytes +
             std::max(0.0, share) * (point.allocated_bytes - before.allocated_bytes);
    }
    before = point;
  }
  return before.allocated_bytes;
}

Generations GenerationsOf(double run_nanos, const std::vector<heap::TimelinePoint>& timeline,
                          bool has_eighths) {
  if (!(run_nanos >= kLeastRunNanos && run_nanos <= kMostRunNanos)) return {};
  const int log2 = static_cast<int>(std::floor(std::log2(run_nanos)));
  Generations generations;
  generations.first = kEighths * (log2 - 3);
  generations.end = kEighths * (log2 - 1);
  generations.nanos = generations.work_nanos = std::exp2(log2 - 1) - std::exp2(log2 - 3);
  generations.old_nanos = generations.old_work_nanos = run_nanos - std::exp2(log2 - 3);
  generations.eighth_nanos = run_nanos / 8;
  generations.half_nanos = run_nanos / 2;
  ALLOMON_DCHECK("inv.report.part", 0 < generations.nanos && generations.nanos <= run_nanos);
  const Allocation allocation(run_nanos, timeline);
  if (!allocation.is_known()) return generations;
  const double share =
      allocation.YoungerShare(generations.end) - allocation.YoungerShare(generations.first);
  if (share >= kLeastShareOfMean * generations.nanos / run_nanos) {
    generations.work_nanos = share * run_nanos;
    generations.old_work_nanos = (1 - allocation.YoungerShare(generations.first)) * run_nanos;
    return generations;
  }
  const Generations chosen =
      GenerationsByAllocation(run_nanos, allocation, has_eighths ? 1 : kEighths);
  if (!chosen.is_silent) return chosen;
  generations.is_silent = true;
  return generations;
}

void Growth::Add(const heap::Sample& sample, const heap::Sampling& sampling,
                 const Generations& generations) {
  for (const heap::AgeCell& cell : sample.ages) {
    const heap::Estimate estimate = heap::EstimateOf(cell.amount, sample, sampling);
    live.Add(estimate);
    const int border = YoungestBorder(cell);
    if (border < generations.first) continue;
    old.Add(estimate);
    if (border < generations.end) recent.Add(estimate);
  }
  ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(recent, old));
  ALLOMON_DCHECK("inv.report.part", heap::IsPartOf(old, live));
  for (const heap::AgeCell& cell : sample.deaths) {
    if (!IsOld(cell, generations)) continue;
    died.Add(heap::EstimateOf(cell.amount, sample, sampling));
  }
}

void Growth::Add(const Growth& other) {
  live.Add(other.live);
  recent.Add(other.recent);
  old.Add(other.old);
  died.Add(other.died);
}

GrowthRate RateOf(const Growth& growth, const Generations& generations) {
  if (generations.nanos <= 0) return {};
  const double seconds = generations.nanos / kNanosPerSecond;
  const heap::Interval interval = DifferenceInterval(growth, DeathShare(generations));
  return {NetBytes(growth, generations) / seconds,
          {interval.low / seconds, interval.high / seconds}};
}

bool HasStopped(const Growth& growth, const Generations& generations) {
  if (generations.nanos <= 0) return false;
  const double net = NetBytes(growth, generations), old = growth.old.amount.bytes;
  return net / generations.nanos < old / generations.old_nanos / 4 &&
         net / generations.work_nanos < old / generations.old_work_nanos / 4;
}

bool SurelyGrows(const Growth& growth, const Generations& generations) {
  return RateOf(growth, generations).interval.low > 0 && !HasStopped(growth, generations);
}

std::vector<bool> GrowInSteps(const std::vector<Site>& sites, const heap::Sampling& sampling,
                              const Generations& generations) {
  std::vector<bool> steps(sites.size());
  if (!(generations.nanos > 0)) return steps;
  std::vector<size_t> order(sites.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto is_less = [&](size_t a, size_t b) {
    const std::vector<uint32_t>&of_a = sites[a].sample->stack, &of_b = sites[b].sample->stack;
    return std::lexicographical_compare(of_a.begin(), of_a.begin() + sites[a].frames, of_b.begin(),
                                        of_b.begin() + sites[b].frames);
  };
  std::sort(order.begin(), order.end(), is_less);
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    SiteBlocks blocks;
    for (; end < order.size() && !is_less(order[begin], order[end]); ++end) {
      blocks.Add(*sites[order[end]].sample, sampling, generations);
    }
    ALLOMON_DCHECK_LT("inv.report.lengths", begin, end);
    if (!blocks.GrowInSteps()) continue;
    for (size_t i = begin; i < end; ++i) steps[order[i]] = true;
  }
  return steps;
}

double MedianAge(const AgeHistogram& histogram) {
  double whole = 0;
  for (const heap::Estimate& estimate : histogram) whole += estimate.amount.bytes;
  if (!(whole > 0)) return 0;
  double below = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    below += histogram[i].amount.bytes;
    if (2 * below >= whole) return i == 0 ? 1 : std::exp2(static_cast<double>(i) + 0.5);
  }
  return 0;
}

double YoungerShare(const heap::AgeCell& cell, double nanos) {
  const heap::Born ages = heap::AgesOf(cell);
  const double least = ages.youngest_seconds * kNanosPerSecond;
  const double end = ages.oldest_seconds * kNanosPerSecond;
  return std::clamp((nanos - least) / (end - least), 0.0, 1.0);
}

}  // namespace allomon::views

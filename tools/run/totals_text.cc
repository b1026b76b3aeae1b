#include "tools/heap/interval.h"
#include "tools/run/finish.h"
#include "tools/run/words.h"

namespace allomon::run {
namespace {

using heap::HeapProfile;
using heap::Metric;

// Returns "81.7 MiB (80.1 MiB to 83.4 MiB)".
std::string WithInterval(const HeapProfile& profile, Metric metric) {
  const heap::Estimate total = heap::EstimateOfAll(profile, metric);
  const double bytes = total.amount.bytes;
  const heap::Sampling sampling = heap::SamplingOf(profile, metric);
  if (!sampling.is_whole) return Bytes(bytes) + " (not all: some found no room)";
  if (sampling.IsExact()) return Bytes(bytes) + " (exactly)";
  const heap::Interval interval = heap::BytesInterval(total);
  if (interval.high <= 0) return "0 B (no sample)";
  if (bytes == 0) return "at most " + Bytes(interval.high);
  return Bytes(bytes) + " (" + Bytes(interval.low) + " to " + Bytes(interval.high) + ")";
}

std::string WhenPeak(const HeapProfile& profile) {
  if (heap::EstimateOfAll(profile, Metric::kPeak).amount.bytes == 0) return "";
  if (profile.is_sum) return ", the peaks of its processes added";
  return " after " + Seconds(profile.peak_seconds);
}

}  // namespace

std::vector<std::string> TotalsText(const HeapProfile& profile, const std::string& who) {
  return {"total " + WithInterval(profile, Metric::kAllocated) + (who.empty() ? "" : " by " + who),
          "peak  " + WithInterval(profile, Metric::kPeak) + WhenPeak(profile),
          "live  " + WithInterval(profile, Metric::kLive) + " at the end"};
}

}  // namespace allomon::run

#include "tools/explain/recorded.h"

#include <string>

#include "absl/status/status.h"
#include "tools/explain/recorded_blocks.h"

namespace allomon::explain {
namespace {

// Between execve(2) and the library's start lies the loading of libraries.
constexpr int64_t kMostLateNanos = 2'000'000'000;

absl::Status NotKnown(const std::string& why) {
  return absl::FailedPreconditionError(
      "how much of the live blocks was asked for is not known: the recording " + why);
}

}  // namespace

AskedFor AskedForOf(const heap::HeapProfile& profile) {
  const heap::Sampling sampling = heap::SamplingOf(profile, heap::Metric::kLive);
  heap::Estimate live;
  double large_bytes = 0;
  for (const heap::Sample& sample : profile.samples) {
    const heap::Amount& amount = sample[heap::Metric::kLive];
    live.Add(heap::EstimateOf(amount, sample, sampling));
    if (sample.size_bytes >= kLargeBytes) large_bytes += amount.bytes;
  }
  return AskedFor{live.amount.bytes, large_bytes, heap::BytesInterval(live)};
}

absl::StatusOr<AskedFor> ReadAskedFor(const Process& process, const std::vector<Area>& areas) {
  recording::RecordingOptions options;
  options.names = false;
  bool is_forked = false;
  options.is_chosen = [&](const recording::Process& each) {
    is_forked = each.record.is_forked;
    return true;
  };
  const auto profile = ReadOwnRecording(process, areas, options);
  if (!profile.ok()) return NotKnown("cannot be read");
  if (profile->start_unix_nanos - process.StartUnixNanos() > kMostLateNanos) {
    return NotKnown("began later than the process");
  }
  if (is_forked) return NotKnown("does not have what the parent allocated before the fork");
  if (profile->missing.samples != 0) return NotKnown("has lost samples");
  return AskedForOf(*profile);
}

}  // namespace allomon::explain

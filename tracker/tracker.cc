#include "tracker/tracker.h"

#include <algorithm>
#include <string>

#include "tracker/core/control.h"
#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon {
namespace {

using internal::ControlError;

absl::Status NoHeap() {
  return absl::FailedPreconditionError(
      "Tracker::start: no heap of this program reports to it; set malloc = "
      "\"@allomon//allocator:malloc\" in its cc_binary, or use //runtime, CustomMemory or "
      "SampledResource");
}

absl::Status ToStatus(ControlError error) {
  switch (error) {
    case ControlError::kNone:
      return absl::OkStatus();
    case ControlError::kBadRate:
      return absl::InvalidArgumentError(
          "Tracker::start: the rate must be a number in [0, 1] (samples per word)");
    case ControlError::kBadCallstackSize:
      return absl::InvalidArgumentError("Tracker::start: callstack_size must be at most 1024");
    case ControlError::kAlreadyStarted:
      return absl::FailedPreconditionError(
          "Tracker::start: already started; stop() first, or set StartOptions::concurrent");
    case ControlError::kTooMany:
      return absl::ResourceExhaustedError(
          "Tracker::start: eight trackers sample already, or sixteen exist; stop() and discard() "
          "one");
    case ControlError::kNotStarted:
      return absl::FailedPreconditionError("Tracker::stop: not started");
    case ControlError::kNotStopped:
      return absl::FailedPreconditionError(
          "Tracker: still sampling; stop(StopMode::kKeepTracking) first");
    case ControlError::kNoSuchTracker:
      return absl::NotFoundError("Tracker: no such tracker, or it was discarded already");
  }
  return absl::InternalError("unknown tracker error");
}

internal::Session::Config ToConfig(double rate, const StartOptions& options) {
  internal::Session::Config config;
  config.rate = rate;
  config.seed = options.seed.has_value() ? *options.seed : internal::RandomSeed();
  config.callstack_size = options.callstack_size;
  config.concurrent = options.concurrent;
  return config;
}

absl::Status StopById(internal::SessionId id, StopMode mode) {
  return ToStatus(mode == StopMode::kDiscard ? internal::StopAndDiscardSession(id)
                                             : internal::StopSession(id));
}

template <typename Live>
std::vector<Live> MostBytesFirst(std::vector<Live> sums) {
  const auto empty = [](const Live& sum) { return sum.sampled_blocks == 0; };
  sums.erase(std::remove_if(sums.begin(), sums.end(), empty), sums.end());
  std::stable_sort(sums.begin(), sums.end(), [](const Live& a, const Live& b) {
    return a.estimate.bytes.value > b.estimate.bytes.value;
  });
  return sums;
}

// At an id in a vector that grows to it.
template <typename Live>
Live& AddTo(uint32_t id, const Allocation& allocation, std::vector<Live>* sums) {
  if (id >= sums->size()) sums->resize(size_t{id} + 1);
  Live& sum = (*sums)[id];
  ++sum.sampled_blocks;
  sum.estimate.Add(allocation);
  return sum;
}

}  // namespace

absl::StatusOr<TrackerId> Tracker::StartClient(double rate, const StartOptions& options,
                                               std::unique_ptr<internal::SessionClient> client) {
  if (!internal::HeapIsLinked()) return NoHeap();
  const internal::StartResult result = internal::StartSession(ToConfig(rate, options), client);
  if (result.error != ControlError::kNone) return ToStatus(result.error);
  return TrackerId{result.id};
}

absl::Status Tracker::stop(StopMode mode) { return StopById(0, mode); }

absl::Status Tracker::stop(TrackerId id, StopMode mode) {
  if (id.value == 0) return ToStatus(ControlError::kNotStarted);
  return StopById(id.value, mode);
}

absl::Status Tracker::discard(TrackerId id) { return ToStatus(internal::DiscardSession(id.value)); }

absl::Status Tracker::drain(TrackerId id) { return ToStatus(internal::DrainSession(id.value)); }

std::vector<LiveStack> Tracker::snapshot(TrackerId id) {
  internal::PinnedSession session(id.value);
  if (!session) return {};
  std::vector<LiveStack> by_stack;  // by stack id, with gaps
  internal::ForEachLive(*session, [&by_stack](const Allocation& allocation) {
    AddTo(allocation.callstack.id(), allocation, &by_stack).callstack = allocation.callstack;
  });
  return MostBytesFirst(std::move(by_stack));
}

std::vector<LiveLabels> Tracker::snapshot_by_labels(TrackerId id) {
  internal::PinnedSession session(id.value);
  if (!session) return {};
  std::vector<LiveLabels> by_labels;  // by the set's id, with gaps
  internal::ForEachLive(*session, [&by_labels](const Allocation& allocation) {
    AddTo(allocation.labels.id(), allocation, &by_labels).labels = allocation.labels;
  });
  return MostBytesFirst(std::move(by_labels));
}

bool Tracker::is_sampling() { return internal::ExclusiveSession() != 0; }

absl::StatusOr<Tracker::Statistics> Tracker::statistics(TrackerId id) {
  internal::PinnedSession session(id.value);
  if (!session) return ToStatus(ControlError::kNoSuchTracker);
  const internal::SessionTotals totals = internal::Registry::Get().TotalsOf(*session);
  Statistics statistics;
  statistics.rate = session->config().rate;
  statistics.seed = session->config().seed;
  statistics.n_samples = totals.samples;
  statistics.reported_blocks = totals.reported_blocks;
  statistics.dropped_blocks = totals.dropped_blocks;
  statistics.dropped_bytes = totals.dropped_bytes;
  statistics.cut_callstacks = totals.cut_callstacks;
  statistics.callback_exceptions = session->client().exceptions();
  return statistics;
}

}  // namespace allomon

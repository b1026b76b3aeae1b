#include "tracker/tracker.h"

#include <algorithm>
#include <string>

#include "tracker/base/link_malloc.h"
#include "tracker/core/control.h"
#include "tracker/core/entries.h"
#include "tracker/core/pinned_session.h"

namespace allomon {
namespace {

using internal::ControlError;

absl::Status NoHeap() {
  return absl::FailedPreconditionError(
      "Tracker::start: no heap of this program reports to it; " ALLOMON_LINK_MALLOC
      ", or use the managed runtime, CustomMemory or SampledResource");
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

std::vector<LiveStack> MostBytesFirst(std::vector<LiveStack> stacks) {
  const auto empty = [](const LiveStack& stack) { return stack.sampled_blocks == 0; };
  stacks.erase(std::remove_if(stacks.begin(), stacks.end(), empty), stacks.end());
  std::stable_sort(stacks.begin(), stacks.end(), [](const LiveStack& a, const LiveStack& b) {
    return a.estimate.bytes.value > b.estimate.bytes.value;
  });
  return stacks;
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
    const size_t stack = allocation.callstack.id();
    if (stack >= by_stack.size()) by_stack.resize(stack + 1);
    by_stack[stack].callstack = allocation.callstack;
    ++by_stack[stack].sampled_blocks;
    by_stack[stack].estimate.Add(allocation);
  });
  return MostBytesFirst(std::move(by_stack));
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

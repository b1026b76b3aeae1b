#include "tracker/tracker.h"

#include <string>

#include "tracker/core/control.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"

namespace allomon {
namespace {

using internal::ControlError;

absl::Status NoHeap() {
  return absl::FailedPreconditionError(
      "Tracker::start: no heap of this program reports to it; set malloc = "
      "\"@allomon//allocator:malloc\" in its cc_binary, or use //runtime, CustomMemory or "
      "SampledResource");
}

absl::StatusCode CodeOf(ControlError error) {
  switch (error) {
    case ControlError::kNone:
      return absl::StatusCode::kOk;
    case ControlError::kBadRate:
    case ControlError::kBadCallstackSize:
      return absl::StatusCode::kInvalidArgument;
    case ControlError::kAlreadyStarted:
    case ControlError::kNotStarted:
    case ControlError::kNotStopped:
      return absl::StatusCode::kFailedPrecondition;
    case ControlError::kTooMany:
      return absl::StatusCode::kResourceExhausted;
    case ControlError::kNoSuchTracker:
      return absl::StatusCode::kNotFound;
  }
  return absl::StatusCode::kInternal;
}

absl::Status ToStatus(ControlError error) {
  if (error == ControlError::kNone) return absl::OkStatus();
  return absl::Status(CodeOf(error), std::string("Tracker: ") + TextOf(error));
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

std::vector<LiveStack> Tracker::snapshot(TrackerId id) { return internal::LiveStacksOf(id.value); }

std::vector<LiveLabels> Tracker::snapshot_by_labels(TrackerId id) {
  return internal::LiveLabelsOf(id.value);
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

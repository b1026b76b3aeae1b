#include "tracker/tracker.h"

#include <string>

#include "tracker/base/link_malloc.h"
#include "tracker/core/control.h"
#include "tracker/core/pinned_session.h"
#include "tracker/core/registry.h"
#include "tracker/preloaded.h"

namespace allomon {
namespace {

using internal::ControlError;
using internal::SessionKind;
namespace preloaded = internal::preloaded;

absl::Status NoHeap() {
  return absl::FailedPreconditionError(
      "Tracker::start: no heap of this program reports to it; " ALLOMON_LINK_MALLOC
      ", or use the managed runtime, CustomMemory or SampledResource");
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

// Converts a status of a preloaded library.
absl::StatusCode CodeOf(allomon_status status) {
  switch (status) {
    case ALLOMON_BAD_RATE:
    case ALLOMON_BAD_CALLSTACK_SIZE:
    case ALLOMON_INVALID_ARGUMENT:
      return absl::StatusCode::kInvalidArgument;
    case ALLOMON_TOO_MANY:
    case ALLOMON_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case ALLOMON_NO_SUCH_TRACKER:
      return absl::StatusCode::kNotFound;
  }
  return absl::StatusCode::kFailedPrecondition;
}

absl::Status FromPreloaded(allomon_status status) {
  if (status == ALLOMON_OK) return absl::OkStatus();
  return absl::Status(CodeOf(status), std::string("Tracker: ") + allomon_status_text(status));
}

internal::Session::Config ToConfig(double rate, const StartOptions& options) {
  internal::Session::Config config;
  config.kind = SessionKind::kTracker;
  config.rate = rate;
  config.seed = options.seed.has_value() ? *options.seed : internal::RandomSeed();
  config.callstack_size = options.callstack_size;
  config.concurrent = options.concurrent;
  return config;
}

absl::Status StopById(internal::SessionId id, StopMode mode) {
  constexpr auto kKind = SessionKind::kTracker;
  return ToStatus(mode == StopMode::kDiscard ? internal::StopAndDiscardSession(id, kKind)
                                             : internal::StopSession(id, kKind));
}

Tracker::Statistics StatisticsOf(internal::Session& session) {
  const internal::SessionTotals totals = internal::Registry::Get().TotalsOf(session);
  Tracker::Statistics statistics;
  statistics.rate = session.config().rate;
  statistics.seed = session.config().seed;
  statistics.n_samples = totals.samples;
  statistics.reported_blocks = totals.reported_blocks;
  statistics.dropped_blocks = totals.dropped_blocks;
  statistics.dropped_bytes = totals.dropped_bytes;
  statistics.cut_callstacks = totals.cut_callstacks;
  statistics.callback_exceptions = session.client().exceptions();
  return statistics;
}

Tracker::Statistics StatisticsOf(const allomon_tracker_counts& counts) {
  Tracker::Statistics statistics;
  statistics.rate = counts.rate;
  statistics.seed = counts.seed;
  statistics.n_samples = counts.n_samples;
  statistics.reported_blocks = counts.reported_blocks;
  statistics.dropped_blocks = counts.dropped_blocks;
  statistics.dropped_bytes = counts.dropped_bytes;
  statistics.cut_callstacks = counts.cut_callstacks;
  statistics.callback_exceptions = counts.callback_failures;
  return statistics;
}

absl::StatusOr<TrackerId> StartInPreloaded(const internal::Session::Config& config,
                                           std::unique_ptr<internal::SessionClient> client) {
  TrackerId id;
  const allomon_status status = preloaded::Start(config, client, &id.value);
  if (status != ALLOMON_OK) return FromPreloaded(status);
  return id;
}

absl::Status StopInPreloaded(uint32_t id, StopMode mode) {
  return FromPreloaded(
      preloaded::Stop(id, mode == StopMode::kDiscard ? ALLOMON_DISCARD : ALLOMON_KEEP_TRACKING));
}

}  // namespace

absl::StatusOr<TrackerId> Tracker::StartClient(double rate, const StartOptions& options,
                                               std::unique_ptr<internal::SessionClient> client) {
  const internal::Session::Config config = ToConfig(rate, options);
  if (preloaded::IsUsed()) return StartInPreloaded(config, std::move(client));
  if (!internal::HeapIsLinked()) return NoHeap();
  const internal::StartResult result = internal::StartSession(config, client);
  if (result.error != ControlError::kNone) return ToStatus(result.error);
  return TrackerId{result.id};
}

absl::Status Tracker::stop(StopMode mode) {
  return preloaded::IsUsed() ? StopInPreloaded(0, mode) : StopById(0, mode);
}

absl::Status Tracker::stop(TrackerId id, StopMode mode) {
  if (id.value == 0) return ToStatus(ControlError::kNotStarted);
  return preloaded::HasTracker(id.value) ? StopInPreloaded(id.value, mode)
                                         : StopById(id.value, mode);
}

absl::Status Tracker::discard(TrackerId id) {
  return preloaded::HasTracker(id.value)
             ? FromPreloaded(preloaded::Discard(id.value))
             : ToStatus(internal::DiscardSession(id.value, SessionKind::kTracker));
}

absl::Status Tracker::drain(TrackerId id) {
  return preloaded::HasTracker(id.value)
             ? FromPreloaded(preloaded::Drain(id.value))
             : ToStatus(internal::DrainSession(id.value, SessionKind::kTracker));
}

std::vector<LiveStack> Tracker::snapshot(TrackerId id) {
  return preloaded::HasTracker(id.value) ? preloaded::Snapshot(id.value)
                                         : internal::LiveStacksOf(id.value);
}

std::vector<LiveLabels> Tracker::snapshot_by_labels(TrackerId id) {
  return preloaded::HasTracker(id.value) ? preloaded::SnapshotByLabels(id.value)
                                         : internal::LiveLabelsOf(id.value);
}

std::vector<LiveTypeStack> Tracker::snapshot_by_types(TrackerId id) {
  return preloaded::HasTracker(id.value) ? preloaded::SnapshotByTypes(id.value)
                                         : internal::LiveTypesOf(id.value);
}

bool Tracker::is_sampling() {
  return preloaded::IsUsed() ? preloaded::IsSampling() : internal::ExclusiveSession() != 0;
}

absl::StatusOr<Tracker::Statistics> Tracker::statistics(TrackerId id) {
  if (preloaded::HasTracker(id.value)) {
    allomon_tracker_counts counts = ALLOMON_TRACKER_COUNTS;
    const allomon_status status = preloaded::ReadCounts(id.value, &counts);
    if (status != ALLOMON_OK) return FromPreloaded(status);
    return StatisticsOf(counts);
  }
  internal::PinnedSession session(id.value, SessionKind::kTracker);
  if (!session) return ToStatus(ControlError::kNoSuchTracker);
  return StatisticsOf(*session);
}

}  // namespace allomon

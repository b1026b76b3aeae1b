#include "tracker/recording.h"

#include "tracker/base/link_malloc.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/preloaded.h"
#include "tracker/recording/start.h"

namespace allomon {
namespace {

using internal::ControlError;

absl::Status CheckOptions(const RecordingOptions& options, bool in_preloaded) {
  if (!in_preloaded && !internal::HeapIsLinked()) {
    return absl::FailedPreconditionError(
        "Recording::Start: no heap of this program reports; " ALLOMON_LINK_MALLOC
        ", or use the managed runtime");
  }
  if (options.path.empty()) {
    return absl::InvalidArgumentError("Recording::Start: name a file in RecordingOptions::path");
  }
  if (options.limit_bytes < recording::kLeastLimitBytes ||
      options.limit_bytes > recording::kMostLimitBytes) {
    return absl::InvalidArgumentError("Recording::Start: limit_bytes must be from 1 MiB to 16 GiB");
  }
  return absl::OkStatus();
}

// Starting a session in addition to others fails for one of three reasons.
absl::Status ToStatus(ControlError error) {
  if (error == ControlError::kNone) return absl::OkStatus();
  const bool is_argument =
      error == ControlError::kBadRate || error == ControlError::kBadCallstackSize;
  return absl::Status(
      is_argument ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kResourceExhausted,
      std::string("Recording::Start: ") + TextOf(error));
}

absl::Status NoSuchRecording() {
  return absl::NotFoundError("Recording: no such recording, or it was stopped already");
}

recording::StartOptions ToStart(const RecordingOptions& options) {
  recording::StartOptions start;
  start.path = options.path.c_str();
  start.limit_bytes = options.limit_bytes;
  start.rate = options.rate;
  start.seed = options.seed.has_value() ? *options.seed : internal::RandomSeed();
  start.callstack_size = options.callstack_size;
  return start;
}

// Converts a status of a preloaded library.
absl::StatusCode CodeOf(allomon_status status) {
  switch (status) {
    case ALLOMON_TOO_MANY:
    case ALLOMON_OUT_OF_MEMORY:
      return absl::StatusCode::kResourceExhausted;
    case ALLOMON_CANNOT_RECORD:
      return absl::StatusCode::kUnavailable;
    case ALLOMON_NO_HEAP:
    case ALLOMON_STANDS_ASIDE:
      return absl::StatusCode::kFailedPrecondition;
  }
  return absl::StatusCode::kInvalidArgument;
}

allomon_recording_options ToC(const RecordingOptions& options) {
  allomon_recording_options out = ALLOMON_RECORDING_DEFAULTS;
  out.path = options.path.c_str();
  out.rate = options.rate;
  out.seed = options.seed.value_or(0);
  out.has_seed = options.seed.has_value();
  out.limit_bytes = options.limit_bytes;
  out.callstack_size = options.callstack_size;
  return out;
}

absl::StatusOr<RecordingId> StartInPreloaded(const RecordingOptions& options) {
  allomon_recording_options given = ToC(options);
  char error[1024] = "";
  given.error_text = error;
  given.error_bytes = sizeof(error);
  RecordingId id;
  const allomon_status status = allomon_recording_start(&given, &id.value);
  if (status == ALLOMON_OK) return id;
  const char* const text = *error != '\0' ? error : allomon_status_text(status);
  return absl::Status(CodeOf(status), "Recording::Start: " + options.path + ": " + text);
}

}  // namespace

absl::StatusOr<RecordingId> Recording::Start(const RecordingOptions& options) {
  const bool in_preloaded = internal::preloaded::IsUsed();
  if (absl::Status status = CheckOptions(options, in_preloaded); !status.ok()) return status;
  if (in_preloaded) return StartInPreloaded(options);
  const recording::Started started = recording::StartRecorder(ToStart(options));
  if (started.error == recording::kTwoRecordings) {
    return absl::ResourceExhaustedError(std::string("Recording::Start: ") + started.error);
  }
  if (started.error != nullptr) {
    return absl::UnavailableError("Recording::Start: " + options.path + ": " + started.error);
  }
  if (started.control != ControlError::kNone) return ToStatus(started.control);
  return RecordingId{started.session};
}

namespace {

absl::StatusOr<Recording::Statistics> ReadInPreloaded(RecordingId id) {
  allomon_recording_counts counts = ALLOMON_RECORDING_COUNTS;
  if (allomon_recording_statistics(id.value, &counts) != ALLOMON_OK) return NoSuchRecording();
  return Recording::Statistics{counts.samples, counts.dropped_samples, counts.dropped_bytes,
                               counts.is_lost != 0};
}

}  // namespace

absl::Status Recording::Stop(RecordingId id) {
  if (internal::preloaded::HasRecording(id.value)) {
    return allomon_recording_stop(id.value) == ALLOMON_OK ? absl::OkStatus() : NoSuchRecording();
  }
  return recording::StopRecorder(id.value) ? absl::OkStatus() : NoSuchRecording();
}

absl::StatusOr<Recording::Statistics> Recording::ReadStatistics(RecordingId id) {
  if (internal::preloaded::HasRecording(id.value)) return ReadInPreloaded(id);
  recording::RecorderTotals totals;
  if (!recording::TotalsOf(id.value, &totals)) return NoSuchRecording();
  return Statistics{totals.samples, totals.dropped_samples, totals.dropped_bytes, totals.is_lost};
}

}  // namespace allomon

#include "tracker/recording.h"

#include "tracker/formats/recording_layout.h"
#include "tracker/recording/start.h"

namespace allomon {
namespace {

using internal::ControlError;

absl::Status CheckOptions(const RecordingOptions& options) {
  if (!internal::HeapIsLinked()) {
    return absl::FailedPreconditionError(
        "Recording::Start: no heap of this program reports; set malloc = "
        "\"@allomon//allocator:malloc\" in its cc_binary, or use //runtime");
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

// Starting a session beside others fails for one of three reasons.
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

}  // namespace

absl::StatusOr<RecordingId> Recording::Start(const RecordingOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
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

absl::Status Recording::Stop(RecordingId id) {
  return recording::StopRecorder(id.value) ? absl::OkStatus() : NoSuchRecording();
}

absl::StatusOr<Recording::Statistics> Recording::ReadStatistics(RecordingId id) {
  recording::RecorderTotals totals;
  if (!recording::TotalsOf(id.value, &totals)) return NoSuchRecording();
  return Statistics{totals.samples, totals.dropped_samples, totals.dropped_bytes, totals.is_lost};
}

}  // namespace allomon

#include "allomon/recording.h"

#include <cstdio>
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/c/structures.h"
#include "tracker/c/to_status.h"
#include "tracker/core/control.h"
#include "tracker/formats/recording_layout.h"
#include "tracker/recording/start.h"

namespace {

namespace recording = allomon::recording;
using allomon::c::CopyIn;
using allomon::c::CopyOut;

// Sizes of the structures' first versions (0.2.0).
constexpr size_t kFirstOptionsBytes = sizeof(allomon_recording_options);
constexpr size_t kFirstCountsBytes = sizeof(allomon_recording_counts);

// Set only in ids of recordings, so that no tracker has such an id.
constexpr uint32_t kRecordingBit = uint32_t{1} << 31;

uint32_t SessionOf(allomon_recording id) {
  return (id & kRecordingBit) != 0 ? id & ~kRecordingBit : 0;
}

allomon_status Check(const allomon_recording_options& options) {
  if (options.path == nullptr || *options.path == '\0') return ALLOMON_INVALID_ARGUMENT;
  if (options.limit_bytes < recording::kLeastLimitBytes ||
      options.limit_bytes > recording::kMostLimitBytes) {
    return ALLOMON_BAD_LIMIT;
  }
  return allomon_ready();
}

recording::StartOptions ToStart(const allomon_recording_options& options) {
  recording::StartOptions start;
  start.path = options.path;
  start.limit_bytes = options.limit_bytes;
  start.rate = options.rate;
  start.seed = options.has_seed != 0 ? options.seed : allomon::internal::RandomSeed();
  start.callstack_size = options.callstack_size;
  return start;
}

void WriteError(const allomon_recording_options& options, const char* text) {
  if (options.error_text == nullptr || options.error_bytes == 0) return;
  snprintf(options.error_text, options.error_bytes, "%s", text);
}

allomon_status ErrorOf(const recording::Started& started) {
  if (started.error == recording::kTwoRecordings) return ALLOMON_TOO_MANY;
  if (started.error != nullptr) return ALLOMON_CANNOT_RECORD;
  return allomon::c::ToStatus(started.control);
}

allomon_status Start(const allomon_recording_options& options, allomon_recording* id) {
  const recording::Started started = recording::StartRecorder(ToStart(options));
  const allomon_status status = ErrorOf(started);
  ALLOMON_DCHECK_EQ("inv.c.id", started.session & kRecordingBit, 0u);
  if (status == ALLOMON_OK) *id = started.session | kRecordingBit;
  if (started.error != nullptr) WriteError(options, started.error);
  return status;
}

}  // namespace

allomon_status allomon_recording_start(const allomon_recording_options* options,
                                       allomon_recording* id) {
  if (id == nullptr) return ALLOMON_INVALID_ARGUMENT;
  *id = 0;
  allomon_recording_options own = ALLOMON_RECORDING_DEFAULTS;
  if (!CopyIn(options, kFirstOptionsBytes, &own)) return ALLOMON_INVALID_ARGUMENT;
  WriteError(own, "");
  const allomon_status status = Check(own);
  if (status == ALLOMON_OK) return Start(own, id);
  WriteError(own, allomon_status_text(status));
  return status;
}

allomon_status allomon_recording_stop(allomon_recording id) {
  const uint32_t session = SessionOf(id);
  if (session == 0 || !recording::StopRecorder(session)) return ALLOMON_NO_SUCH_RECORDING;
  return ALLOMON_OK;
}

allomon_status allomon_recording_path(allomon_recording id, char* text, size_t room_bytes) {
  if (text == nullptr) return ALLOMON_INVALID_ARGUMENT;
  recording::RecorderTotals totals;
  const uint32_t session = SessionOf(id);
  if (session == 0 || !recording::TotalsOf(session, &totals)) return ALLOMON_NO_SUCH_RECORDING;
  recording::FilePath path;
  if (!recording::PathOf(session, &path)) return ALLOMON_CANNOT_RECORD;
  const size_t bytes = strlen(path.text) + 1;
  if (bytes > room_bytes) return ALLOMON_INVALID_ARGUMENT;
  memcpy(text, path.text, bytes);
  return ALLOMON_OK;
}

allomon_status allomon_recording_statistics(allomon_recording id,
                                            allomon_recording_counts* counts) {
  recording::RecorderTotals totals;
  const uint32_t session = SessionOf(id);
  if (session == 0 || !recording::TotalsOf(session, &totals)) return ALLOMON_NO_SUCH_RECORDING;
  allomon_recording_counts own = ALLOMON_RECORDING_COUNTS;
  own.samples = totals.samples;
  own.dropped_samples = totals.dropped_samples;
  own.dropped_bytes = totals.dropped_bytes;
  own.is_lost = totals.is_lost;
  return CopyOut(own, kFirstCountsBytes, counts) ? ALLOMON_OK : ALLOMON_INVALID_ARGUMENT;
}

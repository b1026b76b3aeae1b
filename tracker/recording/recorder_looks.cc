// The looks of a recorder's watcher: when one is due, and what it may read.
#include <cstring>

#include "tracker/base/check.h"
#include "tracker/recording/recorder.h"

namespace allomon::recording {

// Only one of the threads that find a look due gets true.
bool Recorder::IsLookDueSlow(uint64_t nanos, uint64_t look_nanos, uint64_t allocated_bytes) {
  if (!look_nanos_.compare_exchange_strong(look_nanos, nanos, std::memory_order_relaxed)) {
    return false;
  }
  look_bytes_.store(allocated_bytes, std::memory_order_relaxed);
  return true;
}

bool Recorder::Stand(Standing* standing) {
  const RecorderHold hold;
  if (!store_.is_begun() || !FollowsLocked(serial_)) return false;
  standing->serial = serial_;
  standing->nanos = Nanos();
  standing->allocated_bytes = store_.allocated_bytes();
  standing->live_bytes = store_.BytesOf(store_.peak().Live());
  standing->peak_bytes = store_.BytesOf(store_.peak().Peak());
  standing->peak_variance = store_.PeakVariance();
  standing->pid = facts_.pid;
  standing->process = store_.segment();
  standing->segments = file_.segments_used();
  standing->is_named = file_.is_named();
  return true;
}

bool Recorder::CopyPath(uint64_t serial, FilePath* path) {
  const RecorderHold hold;
  if (!FollowsLocked(serial)) return false;
  memcpy(path, &file_.path(), sizeof(*path));
  return true;
}

bool Recorder::CopyBytes(uint64_t serial, uint32_t segment, uint32_t offset, char* bytes,
                         uint32_t size) {
  const RecorderHold hold;
  if (!store_.is_begun() || !FollowsLocked(serial)) return false;
  ALLOMON_DCHECK_LE("inv.recording.segment", uint64_t{offset} + size, kSegmentBytes);
  CopyWords(file_.At(segment) + offset, bytes, size);
  return true;
}

bool Recorder::SetResident(uint64_t serial, uint64_t bytes) {
  const RecorderHold hold;
  if (!store_.is_begun() || !FollowsLocked(serial)) return false;
  store_.SetResident(Nanos(), bytes);
  return true;
}

void Recorder::SetNextLook(uint64_t allocated_bytes) {
  look_gap_bytes_.store(allocated_bytes, std::memory_order_relaxed);
}

}  // namespace allomon::recording

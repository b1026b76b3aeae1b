#include "tracker/recording/timeline.h"

#include <algorithm>

#include "tracker/base/own_memory.h"
#include "tracker/recording/recorder_lock.h"

namespace allomon::recording {
namespace {

constexpr size_t kOwnBytes = kMostTimelinePoints * (sizeof(TimelinePoint) + sizeof(ResidentPoint));

uint64_t ToBytes(int64_t live, double units_per_byte) {
  return live <= 0 ? 0 : static_cast<uint64_t>(static_cast<double>(live) / units_per_byte);
}

// The merged point has the later point's values and the maximum of both.
void MergeInto(const TimelinePoint& later, TimelinePoint* point) {
  ALLOMON_DCHECK_LE("inv.recording.timeline", point->allocated_bytes, later.allocated_bytes);
  const uint64_t most = std::max(point->most_live_bytes, later.most_live_bytes);
  *point = later;
  point->most_live_bytes = most;
}

}  // namespace

void Timeline::Begin(SegmentSource* source, WrittenField<uint32_t> count,
                     WrittenField<uint64_t> interval_nanos) {
  points_.Begin(source, count);
  source_ = source;
  written_interval_ = interval_nanos;
  interval_nanos_ = kFirstIntervalNanos;
  written_interval_.Store(interval_nanos_);
  busy_.store(false, std::memory_order_relaxed);
  end_nanos_.store(kFirstIntervalNanos, std::memory_order_relaxed);
  left_nanos_.store(0, std::memory_order_relaxed);
  most_.store(0, std::memory_order_relaxed);
}

void Timeline::Clear() {
  points_.Clear();
  resident_.Clear();
  if (own_ != nullptr) internal::OwnMemory::Unmap(own_, kOwnBytes);
  own_ = nullptr;
}

// A thread that is stopped in here does not block others: the intervals that pass meanwhile become
// one.  Their allocation is then of unknown moments until now.  Else nothing was sampled since the
// interval's end, and the figures are those of that end.
void Timeline::Close(uint64_t nanos, uint64_t allocated_bytes, int64_t live, double units_per_byte,
                     uint64_t resident_bytes) {
  if (busy_.exchange(true, std::memory_order_acquire)) {
    left_nanos_.store(nanos, std::memory_order_relaxed);
    return;
  }
  const uint64_t end = end_nanos_.load(std::memory_order_relaxed);
  if (nanos >= end) {
    const int64_t most = std::max(most_.exchange(live, std::memory_order_relaxed), live);
    const bool was_left = left_nanos_.load(std::memory_order_relaxed) >= end;
    Add({(was_left ? nanos : end) - 1, allocated_bytes, ToBytes(live, units_per_byte),
         ToBytes(most, units_per_byte)},
        resident_bytes);
    ALLOMON_DCHECK_LE("inv.recording.timeline", live, most);
    end_nanos_.store((nanos / interval_nanos_ + 1) * interval_nanos_, std::memory_order_relaxed);
  }
  busy_.store(false, std::memory_order_release);
}

void Timeline::Add(const TimelinePoint& point, uint64_t resident_bytes) {
  if (own_ == nullptr) own_ = static_cast<TimelinePoint*>(internal::OwnMemory::Map(kOwnBytes));
  if (own_ == nullptr) return;
  own_resident_ = reinterpret_cast<ResidentPoint*>(own_ + kMostTimelinePoints);
  if (points_.size() == kMostTimelinePoints) Halve();
  const uint32_t number =
      WithRoom(points_.file(), [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
        return points_.Reserve() ? points_.Add(point) : 0;
      });
  if (number == 0) return;
  ALLOMON_DCHECK("inv.recording.timeline", number == 1 || own_[number - 2].nanos < point.nanos);
  own_[number - 1] = point;
  own_resident_[number - 1].bytes = resident_bytes;
  if (resident_bytes != 0 && resident_.size() == 0) {
    WithRoom(points_.file(), [&]() ALLOMON_REQUIRES(recorder_lock) -> uint32_t {
      return resident_.Add(source_, SegmentKind::kResident) ? 1 : 0;
    });
  }
  WriteResident(number, resident_bytes);
  ALLOMON_DCHECK_LE("inv.recording.timeline", points_.size(), kMostTimelinePoints);
}

// Points may lie far apart, so that one doubling of the interval merges few of them.
void Timeline::Halve() {
  uint32_t left = kMostTimelinePoints;
  while (left > kMostTimelinePoints / 4 * 3) {
    interval_nanos_ *= 2;
    left = MergeByInterval(left);
  }
  ALLOMON_DCHECK("inv.recording.timeline", 0 < left && left < kMostTimelinePoints);
  for (uint32_t number = 1; number <= left; ++number) Write(number);
  for (uint32_t number = left + 1; number <= kMostTimelinePoints; ++number) {
    WriteResident(number, 0);
  }
  points_.Shrink(left);
  written_interval_.Store(interval_nanos_);
}

uint32_t Timeline::MergeByInterval(uint32_t count) {
  uint32_t last = 0;
  for (uint32_t i = 1; i < count; ++i) {
    if (own_[i].nanos / interval_nanos_ == own_[last].nanos / interval_nanos_) {
      MergeInto(own_[i], &own_[last]);
      own_resident_[last] = own_resident_[i];
    } else {
      own_[++last] = own_[i];
      own_resident_[last] = own_resident_[i];
    }
  }
  return last + 1;
}

void Timeline::WriteResident(uint32_t number, uint64_t bytes) {
  if (resident_.size() == 0) return;
  char* const place = resident_.At(0) + (number - 1) * sizeof(ResidentPoint);
  Written<ResidentPoint>(place)[&ResidentPoint::bytes].Store(bytes);
}

void Timeline::Write(uint32_t number) {
  WriteResident(number, own_resident_[number - 1].bytes);
  const Written<TimelinePoint> file = points_.At(number);
  const TimelinePoint& own = own_[number - 1];
  file[&TimelinePoint::nanos].Store(own.nanos);
  file[&TimelinePoint::allocated_bytes].Store(own.allocated_bytes);
  file[&TimelinePoint::live_bytes].Store(own.live_bytes);
  file[&TimelinePoint::most_live_bytes].Store(own.most_live_bytes);
}

}  // namespace allomon::recording

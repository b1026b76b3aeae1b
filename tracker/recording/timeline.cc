#include "tracker/recording/timeline.h"

#include <algorithm>

namespace allomon::recording {
namespace {

// The later point's values; both points' maximum.
void MergeInto(const TimelinePoint& later, TimelinePoint* point) {
  const uint64_t most = point->most_live_bytes;
  *point = later;
  if (most > point->most_live_bytes) point->most_live_bytes = most;
}

}  // namespace

void Timeline::Begin(SegmentSource* source, uint32_t* count, uint64_t* interval_nanos) {
  points_.Begin(source, count);
  interval_nanos_ = interval_nanos;
  *interval_nanos_ = kFirstIntervalNanos;
  end_nanos_ = 0;
}

// 0 in a file that is being truncated.
uint64_t Timeline::IntervalNanos() const { return std::max<uint64_t>(*interval_nanos_, 1); }

void Timeline::Note(const TimelinePoint& now) {
  if (__builtin_expect(now.nanos < end_nanos_, 1)) {
    MergeInto(now, &points_.At(points_.size()));
  } else {
    AddPoint(now);
  }
}

void Timeline::AddPoint(const TimelinePoint& now) {
  if (points_.size() == kMostTimelinePoints) Halve();
  const uint64_t interval = now.nanos / IntervalNanos();
  const uint32_t last = points_.size();
  end_nanos_ = (interval + 1) * IntervalNanos();
  if (last != 0 && points_.At(last).nanos / IntervalNanos() == interval) {
    return MergeInto(now, &points_.At(last));
  }
  const uint32_t number = points_.Add(now);
  ALLOMON_DCHECK_LE("inv.recording.timeline", number, kMostTimelinePoints);
  if (number == 0) end_nanos_ = 0;  // the next one tries again
}

// Points may lie far apart, so that one doubling may merge few.
void Timeline::Halve() {
  uint32_t left = kMostTimelinePoints;
  while (left > kMostTimelinePoints / 4 * 3) {
    *interval_nanos_ *= 2;
    left = MergeByInterval();
    points_.Shrink(left);
  }
}

uint32_t Timeline::MergeByInterval() {
  uint32_t last = 1;
  for (uint32_t number = 2; number <= points_.size(); ++number) {
    const TimelinePoint point = points_.At(number);
    if (point.nanos / IntervalNanos() == points_.At(last).nanos / IntervalNanos()) {
      MergeInto(point, &points_.At(last));
    } else {
      points_.At(++last) = point;
    }
  }
  return last;
}

}  // namespace allomon::recording

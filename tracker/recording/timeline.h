// The course of a recording in time: one point per interval, of which there are at most
// kMostTimelinePoints; then the interval doubles, and points that share one are merged.
//
// Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_TIMELINE_H_
#define ALLOMON_TRACKER_RECORDING_TIMELINE_H_

#include <cstdint>

#include "tracker/recording/records.h"

namespace allomon::recording {

class Timeline {
 public:
  void Begin(SegmentSource* source, uint32_t* count, uint64_t* interval_nanos);
  void Clear() { points_.Clear(); }

  // Where the process stands now.  The last point follows what happens until its interval is over.
  void Note(const TimelinePoint& now);

 private:
  static constexpr uint64_t kFirstIntervalNanos = 1'000'000;

  uint64_t IntervalNanos() const;
  void AddPoint(const TimelinePoint& now);
  void Halve();
  uint32_t MergeByInterval();

  Records<TimelinePoint, SegmentKind::kTimeline> points_;
  uint64_t* interval_nanos_ = nullptr;
  uint64_t end_nanos_ = 0;  // of the last point's interval
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_TIMELINE_H_

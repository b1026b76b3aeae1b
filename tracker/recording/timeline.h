// The recording's course over time: one point for each interval in which something happened. At
// most kMostTimelinePoints are kept. Then the interval doubles, and points in the same interval are
// merged.
//
// Beside each point is the resident memory of the process, as it was last read until then.
//
// Any thread, without a lock: a thread that finds another one at work here leaves the point to it.
// The point of an interval is written when the interval is over; a reader adds the current point.
#ifndef ALLOMON_TRACKER_RECORDING_TIMELINE_H_
#define ALLOMON_TRACKER_RECORDING_TIMELINE_H_

#include <atomic>

#include "tracker/recording/records.h"

namespace allomon::recording {

class Timeline {
 public:
  ~Timeline() { Clear(); }

  void Begin(SegmentSource* source, WrittenField<uint32_t> count,
             WrittenField<uint64_t> interval_nanos);
  void Clear();

  // Whether an interval is over. If so, call Close() before any other change.
  bool IsOver(uint64_t nanos) const { return nanos >= end_nanos_.load(std::memory_order_relaxed); }
  // Adds the point of the values until `nanos`; `live` is in units of PeakState, and resident_bytes
  // is 0 if it is not known.
  void Close(uint64_t nanos, uint64_t allocated_bytes, int64_t live, double units_per_byte,
             uint64_t resident_bytes);
  // After a birth.
  void NoteLive(int64_t live) {
    if (live > most_.load(std::memory_order_relaxed)) {
      most_.store(live, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr uint64_t kFirstIntervalNanos = 1'000'000;

  void Add(const TimelinePoint& point, uint64_t resident_bytes);
  void WriteResident(uint32_t number, uint64_t bytes);
  void Halve();
  uint32_t MergeByInterval(uint32_t count);
  void Write(uint32_t number);

  // Owned by the thread that has set busy_.
  Records<TimelinePoint, SegmentKind::kTimeline> points_;
  TimelinePoint* own_ = nullptr;  // the same in own memory, from 0
  ResidentPoint* own_resident_ = nullptr;
  SegmentSource* source_ = nullptr;
  SegmentList resident_;  // one segment, from the first known figure on
  WrittenField<uint64_t> written_interval_;
  uint64_t interval_nanos_ = kFirstIntervalNanos;

  std::atomic<bool> busy_{false};
  std::atomic<uint64_t> end_nanos_{0};
  std::atomic<uint64_t> left_nanos_{0};  // when a thread found another one at work
  std::atomic<int64_t> most_{0};         // maximum in this interval
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_TIMELINE_H_

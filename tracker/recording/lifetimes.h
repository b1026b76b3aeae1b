// How blocks of each row ended: freed, promoted or died young, at about which age, and by whom.
//
// Guarded by the recorder's lock.
#ifndef ALLOMON_TRACKER_RECORDING_LIFETIMES_H_
#define ALLOMON_TRACKER_RECORDING_LIFETIMES_H_

#include <cstdint>

#include "tracker/recording/number_index.h"
#include "tracker/recording/records.h"

namespace allomon::recording {

// The end of one block, or its promotion.
struct BlockEnd {
  uint32_t row;
  EventKind kind;
  bool by_other_thread;
  uint64_t bytes;  // allocated meanwhile by the allocating thread
  uint64_t nanos;  // that it lived
};

class LifetimeTable {
 public:
  void Begin(SegmentSource* source, uint32_t* count) { events_.Begin(source, count); }
  void Clear();

  // Without room for a new cell nothing is added.
  void Add(const BlockEnd& end, const Sum& block);

 private:
  uint32_t CellOf(const Event& key);

  Records<Event, SegmentKind::kEvents> events_;
  NumberIndex index_;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_LIFETIMES_H_

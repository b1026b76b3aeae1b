// Counts the records that a recording lacks because there was no room, by kind.  The counts are in
// own memory and are copied into the file.
//
// Any thread, no lock.
#ifndef ALLOMON_TRACKER_RECORDING_MISSING_H_
#define ALLOMON_TRACKER_RECORDING_MISSING_H_

#include <atomic>
#include <cstdint>

#include "tracker/recording/written.h"

namespace allomon::recording {

class Missing {
 public:
  void Begin(const Written<ProcessRecord>& file) {
    file_ = file;
    for (std::atomic<uint64_t>& count : counts_) count.store(0, std::memory_order_relaxed);
  }

  void Count(Shortage shortage, uint64_t number = 1) {
    counts_[static_cast<size_t>(shortage)].fetch_add(number, std::memory_order_relaxed);
    file_.At(&ProcessRecord::missing, static_cast<size_t>(shortage)).Add(number);
  }
  uint64_t Of(Shortage shortage) const {
    return counts_[static_cast<size_t>(shortage)].load(std::memory_order_relaxed);
  }

 private:
  Written<ProcessRecord> file_;
  std::atomic<uint64_t> counts_[kShortages] = {};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_MISSING_H_

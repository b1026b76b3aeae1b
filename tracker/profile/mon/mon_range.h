// A range that is being sampled: the caller's buffer, and the place of its cells.
#ifndef ALLOMON_TRACKER_PROFILE_MON_MON_RANGE_H_
#define ALLOMON_TRACKER_PROFILE_MON_MON_RANGE_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "tracker/formats/mon_layout.h"
#include "tracker/profile/mon/mon_module.h"

namespace allomon::internal {

// The request of a caller of monitor().
struct MonRequest {
  uintptr_t low = 0;
  uintptr_t high = 0;
  WORD* buffer = nullptr;
  int64_t words = 0;
  int64_t nfunc = 0;
  uint32_t hz = 0;
};

class MonSampledRange {
 public:
  // Divides the buffer, without writing to it.  On failure returns false with one line in *error.
  bool Plan(const MonRequest& request, std::string* error);
  // Called after Plan(): writes the header and clears the rest of the buffer.
  void Prepare();

  // Async-signal-safe, any thread.  Returns false if `pc` is outside.
  bool Add(uintptr_t pc, uint64_t ticks);

  bool Overlaps(uintptr_t low, uintptr_t high) const { return low < high_ && low_ < high; }
  uintptr_t low() const { return low_; }
  uintptr_t high() const { return high_; }
  uint32_t count_room() const { return count_room_; }

  // Called after the last Add().  FinishHeader() stores totals and flags in the header; SetCount()
  // stores one call count, of which there may be count_room().
  void FinishHeader(uint64_t other_ticks, bool counts_lost);
  void SetCount(uint32_t i, uintptr_t function, uint64_t calls);

  // The bytes of the buffer, in the form of the file.
  const char* image() const { return reinterpret_cast<const char*>(buffer_); }
  size_t image_bytes() const { return FixedBytes(count_room_) + cells_ * sizeof(WORD); }

 private:
  WORD* buffer_ = nullptr;
  WORD* first_cell_ = nullptr;
  uintptr_t low_ = 0;
  uintptr_t high_ = 0;
  uint32_t count_room_ = 0;
  uint32_t cells_ = 0;
  uint32_t cell_bytes_ = 0;
  uint32_t hz_ = 0;
  MonModule module_;
  std::atomic<uint64_t> ticks_{0};
  std::atomic<bool> saturated_{false};
};

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_MON_MON_RANGE_H_

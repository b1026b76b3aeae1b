// The resident memory of the process, for the reports of its recording: it says how much of a large
// process the recording explains.
//
// Any thread, without a lock; may be called inside malloc.
#ifndef ALLOMON_TRACKER_RECORDING_RESIDENT_MEMORY_H_
#define ALLOMON_TRACKER_RECORDING_RESIDENT_MEMORY_H_

#include <atomic>
#include <cstdint>

#include "tracker/recording/written.h"

namespace allomon::recording {

struct ResidentBytes {
  uint64_t all = 0;
  uint64_t of_files = 0;  // of these, pages of files and of shared memory
};

// Reads /proc/thread-self/statm.  All is 0 if it cannot be read.  Cost: three system calls, some 10
// us.
ResidentBytes ReadResidentBytes();

class ResidentMemory {
 public:
  // The least time between two readings.
  static constexpr uint64_t kGapNanos = 20'000'000;

  // `may_read`: whether the recording looks at files anyway.  A process of `allomon run` makes no
  // system call for its recording except for memory, so that filters in its children, which may
  // kill, are not met.
  void Begin(bool may_read) {
    next_nanos_.store(may_read ? 0 : UINT64_MAX, std::memory_order_relaxed);
    most_bytes_.store(0, std::memory_order_relaxed);
    last_bytes_.store(0, std::memory_order_relaxed);
  }

  // Reads and writes, if it is time.  Does nothing once the host has a filter of system calls.
  void Note(uint64_t nanos, uint64_t live_bytes, const Written<ProcessRecord>& process);

  // The last figure that Note() has read; 0 if it has not, or does not read any more.
  uint64_t last_bytes() const { return last_bytes_.load(std::memory_order_relaxed); }

  // Writes a figure that the caller has read, at any time and also into a memory file.
  void Set(uint64_t nanos, uint64_t resident_bytes, uint64_t live_bytes,
           const Written<ProcessRecord>& process);

 private:
  std::atomic<uint64_t> next_nanos_{0};
  std::atomic<uint64_t> most_bytes_{0};
  std::atomic<uint64_t> last_bytes_{0};
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_RESIDENT_MEMORY_H_

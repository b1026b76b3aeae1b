// A tracker that writes down what happens to the blocks that one thread
// allocates while it says so, and to nobody else's: gtest and the C++ library
// allocate as they please.
//
// Keeps its records in static memory, so that the callbacks themselves never
// allocate.
#ifndef ALLOMON_TESTS_INTEGRATION_RECORDER_H_
#define ALLOMON_TESTS_INTEGRATION_RECORDER_H_

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tracker/tracker.h"

namespace allomon::testing {

struct Record {
  Allocation allocation;
  std::atomic<int> deallocs{0};
  pthread_t dealloc_thread{};
};

// The records of blocks watched since the last Clear(); thread safe but for
// Clear().
class Recorder {
 public:
  static constexpr size_t kMaxRecords = 1 << 17;

  static void Clear();
  static size_t size();
  static Record& at(size_t i);

  // Adds a record if this thread is watching; -1 if it is not.
  static int Open(const Allocation& allocation);
  static void Close(int record);

  // Records that have had no dealloc callback.
  static size_t Live();
  // The number of records with more than one: always 0 unless something is
  // broken.
  static size_t ClosedTwice();
};

// While one exists, the allocations of its thread are recorded.
class Watch {
 public:
  Watch();
  ~Watch();
};

struct RecordingTracker {
  std::optional<int> alloc_major(const Allocation& allocation) {
    const int record = Recorder::Open(allocation);
    return record < 0 ? std::nullopt : std::optional<int>(record);
  }
  void dealloc_major(int record) { Recorder::Close(record); }
};

// Samples for as long as it exists, with a fixed seed; at rate 0 nothing is
// started.
class Sampling {
 public:
  explicit Sampling(double rate);
  ~Sampling();
  // Ends the sampling; what is tracked stays tracked until the destructor.
  void StopButKeepTracking();

 private:
  std::optional<TrackerId> id_;
  bool stopped_ = false;
};

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_INTEGRATION_RECORDER_H_

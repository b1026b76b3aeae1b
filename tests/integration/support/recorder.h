// A tracker that records the blocks that a thread allocates while the thread has a Watch.  It
// records no other blocks, since gtest and the C++ library allocate as they please.
//
// The records are in static memory, so the callbacks themselves never allocate.
#ifndef ALLOMON_TESTS_INTEGRATION_SUPPORT_RECORDER_H_
#define ALLOMON_TESTS_INTEGRATION_SUPPORT_RECORDER_H_

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

// The records of the blocks watched since the last Clear().  Thread safe, except Clear().
class Recorder {
 public:
  static constexpr size_t kMaxRecords = 1 << 17;

  static void Clear();
  static size_t size();
  static Record& at(size_t i);

  // Adds a record if this thread is watching.  Returns -1 if it is not.
  static int Open(const Allocation& allocation);
  static void Close(int record);

  // Returns the number of records without a dealloc callback.
  static size_t Live();
  // Returns the number of records with more than one dealloc callback: always 0 unless something is
  // broken.
  static size_t ClosedTwice();
};

// Records the allocations of its thread while it exists.
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

// Samples while it exists, with a fixed seed.  At rate 0 nothing is started.
class Sampling {
 public:
  explicit Sampling(double rate);
  ~Sampling();
  // Ends the sampling.  Tracked blocks stay tracked until the destructor.
  void StopButKeepTracking();

 private:
  std::optional<TrackerId> id_;
  bool stopped_ = false;
};

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_INTEGRATION_SUPPORT_RECORDER_H_

// Somebody who looks at a recording now and then, while it goes on: tracker/triggers saves copies
// of it.
#ifndef ALLOMON_TRACKER_RECORDING_WATCHER_H_
#define ALLOMON_TRACKER_RECORDING_WATCHER_H_

#include <cstdint>

namespace allomon::recording {

class Recorder;

// Where a recording stands.  Bytes are estimates.
struct Standing {
  uint64_t serial = 0;  // of the recording; a child of fork has another one
  uint64_t nanos = 0;   // since its start
  uint64_t allocated_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;
  double peak_variance = 0;  // of peak_bytes; 0: they are exact
  uint32_t pid = 0;
  uint32_t process = 0;   // number of its process segment in the file
  uint32_t segments = 0;  // of the file in use, segment 0 included
  bool is_named = false;  // else it is a memory file
};

// A look follows a sample once in so many nanoseconds, or after as many bytes as were asked for.
inline constexpr uint64_t kLookNanos = 10'000'000;

class Watcher {
 public:
  // In the allocation that the sample was of, on its thread, under no lock; on several threads at
  // once.  Must not allocate by malloc.
  virtual void Look(Recorder& recorder) = 0;

 protected:
  ~Watcher() = default;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_WATCHER_H_

// The interface of a watcher, which is called now and then while a recording goes on.
// tracker/triggers saves copies of the recording from one.
#ifndef ALLOMON_TRACKER_RECORDING_WATCHER_H_
#define ALLOMON_TRACKER_RECORDING_WATCHER_H_

#include <cstdint>

namespace allomon::recording {

class Recorder;

// The current state of a recording.  Bytes are estimates.
struct Standing {
  uint64_t serial = 0;  // of the recording; a child of fork has another one
  uint64_t nanos = 0;   // since its start
  uint64_t allocated_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t peak_bytes = 0;
  double peak_variance = 0;  // of peak_bytes; 0: they are exact
  uint32_t pid = 0;
  uint32_t process = 0;   // number of its process segment in the file
  uint32_t segments = 0;  // in use in the file, segment 0 included
  bool is_named = false;  // else it is a memory file
};

// A sample is followed by a look if this time has passed since the last one, or the bytes that
// SetNextLook() was given.
inline constexpr uint64_t kLookNanos = 10'000'000;

class Watcher {
 public:
  // Called inside the allocation of a sample, on its thread, under no lock; several threads may
  // call it at once.  Must not call malloc.
  virtual void Look(Recorder& recorder) = 0;

 protected:
  ~Watcher() = default;
};

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_WATCHER_H_

// Records the heap of this program into a file: whole call stacks with their allocations, the live
// blocks, the live blocks at the peak, and the lifetimes of blocks.  Managed objects (//runtime)
// are included: those born in the nursery, those that were promoted, those that died young.
//
//   const auto recording = allomon::Recording::Start({"/tmp/program.rec"});
//   if (!recording.ok()) ...
//   ...
//   allomon::Recording::Stop(*recording);
//
// The file is mapped: it can be read at any moment, even if the program was killed.  Stop() only
// marks the recording as ended.  `allomon report /tmp/program.rec` shows it.
//
// Blocks are sampled as by a Tracker (tracker.h), independently of all other trackers.  Sizes are
// in bytes, as requested; a managed object's includes its header.
//
// Thread rule: everything here is thread safe and may be called in callbacks of a tracker; not in
// signal handlers.  Heaps report if they are linked into the same executable, or preloaded
// (tracker.h).
//
// A child of fork records from its first sample on, into a file of its own: the name with another
// %p, or with a dot and the child's process id appended.
//
// Cost: a sample takes some 0.2 us more than a callback that does nothing, the end of a sampled
// block as much.  The file grows with distinct stacks up to its limit; its minimum is 200 KB.  Own
// memory, with the interned stacks, takes two to three times as much.
#ifndef ALLOMON_TRACKER_RECORDING_H_
#define ALLOMON_TRACKER_RECORDING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace allomon {

struct RecordingOptions {
  // A file of that name is replaced. %p becomes the process id, %% a percent sign.
  std::string path;
  double rate = 1e-4;                 // hits per word of 8 bytes, in [0, 1]
  std::optional<uint64_t> seed = {};  // default: unpredictable
  // The maximum size of the file, from 1 MiB to 16 GiB.  Samples for which it has no room are
  // dropped and counted.
  uint64_t limit_bytes = uint64_t{256} << 20;
  uint32_t callstack_size = 128;  // innermost frames kept, at most 1024
};

// Names one recording.
struct RecordingId {
  uint32_t value = 0;
};

class Recording {
 public:
  struct Statistics {
    uint64_t samples = 0;          // sampled blocks in the file, of this process
    uint64_t dropped_samples = 0;  // those without room
    uint64_t dropped_bytes = 0;    // the sizes of their blocks
    bool lost = false;             // the file was truncated; all since then is dropped
  };

  // Fails with
  //   kInvalidArgument     the rate is NaN or outside [0, 1]; a callstack_size over 1024; a limit
  //                        out of range; no path, or one that is too long
  //   kFailedPrecondition  no heap that reports is linked or preloaded
  //   kUnavailable         the file cannot be made; the message says why
  //   kResourceExhausted   two recordings go on; eight trackers sample already, or sixteen exist
  static absl::StatusOr<RecordingId> Start(const RecordingOptions& options);

  // Ends the recording: nothing more is added; live blocks stay live in the file.  Fails with
  // kNotFound if it was stopped.
  static absl::Status Stop(RecordingId id);

  // Returns the current counts.  Fails with kNotFound if it was stopped.
  static absl::StatusOr<Statistics> ReadStatistics(RecordingId id);
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_RECORDING_H_

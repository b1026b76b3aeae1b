// Samples allocations and follows the sampled blocks: the C++ counterpart of OCaml's Gc.Memprof.
//
// A tracker is any object with some of these eight methods (a method that it lacks does nothing):
//
//   class MyTracker {
//    public:
//     std::optional<Minor> alloc_minor(const Allocation&);  // born in a nursery
//     std::optional<Major> alloc_major(const Allocation&);  // born elsewhere: malloc
//     std::optional<Major> promote(Minor);                  // survived the nursery
//     void dealloc_minor(Minor);                            // died in the nursery
//     void dealloc_major(Major);                            // died elsewhere
//     void survive_minor(const Allocation&, Minor);         // alive at drain()
//     void survive_major(const Allocation&, Major);
//     std::string describe(const Major&);  // or std::string_view
//   };
//
// Minor and Major are the tracker's own types: the value that it returns is kept with the block and
// passed to later calls.  std::nullopt from alloc_* or promote ends the tracking of that block.
//
//   allomon::Tracker::start(1e-4, MyTracker{});   // one sample per 10,000 words
//   ...
//   allomon::Tracker::stop();
//
// At 1e-4 a block of 64 bytes is reported with probability 0.09 %, one of 1 MiB always.
//
// describe is called directly after alloc_major, on the same thread, only for a block that the
// allocator's guard has chosen (allocator/guard.h).  Its text, up to 120 bytes, appears in the
// report if the program misuses the block.
//
// Rules of the callbacks (Gc.Memprof's, see "Callbacks" in tracker/README.md):
//  - For one block: alloc, then promote at most once, then dealloc at most once.
//  - malloc blocks: alloc runs before malloc returns, dealloc before the memory can be
//    reused (but see below); both on the calling thread.
//  - Within a callback the thread is not sampled; it may allocate, free, lock, start and
//    stop trackers.  A dealloc that falls due inside a callback runs right after it.
//  - Several threads may be in callbacks at once: a tracker with state of its own guards
//    it, with std::mutex for instance.
//  - An exception from a callback ends the tracking of that block and is counted; one from
//    describe is counted, and the block has no text.
//  - pthread_exit and pthread_cancel in a callback end it as they end the thread.  longjmp may not
//    leave a callback: what says that the thread is in one would stay.
//  - A forked child goes on with its copy of the tracker.  A mutex of the tracker's own
//    that another thread held at the fork stays locked there: stop() first in a child
//    that allocates much, or guard the state with pthread_atfork.
//
// Values are moved, never copied, and destroyed by the thread that consumes them: the one that
// frees the block, or that calls stop() or discard().  So is the tracker itself, when it is
// discarded and its last callback has returned.  Destructors may allocate and free.
//
// Stop a tracker before the objects that its callbacks use are destroyed, at the latest before main
// returns: blocks are freed until the very end of the process.
//
// Thread rule: everything here is thread safe and may be called in callbacks; not in signal
// handlers.  Heaps report if they are linked into the same executable: //allocator:malloc for
// malloc, //runtime for managed objects, CustomMemory for others.  If neither of the first two is
// linked and liballomon.so is preloaded, all of this goes to its malloc (tracker/c/README.md).
#ifndef ALLOMON_TRACKER_TRACKER_H_
#define ALLOMON_TRACKER_TRACKER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/allocation.h"
#include "tracker/core/client.h"
#include "tracker/core/live_sums.h"
#include "tracker/estimate.h"

namespace allomon {

// Frames kept per call stack unless StartOptions says otherwise; at most 1024.
inline constexpr uint32_t kDefaultCallstackSize = 128;

struct StartOptions {
  // Innermost frames kept; 0 captures nothing and is the cheapest.
  uint32_t callstack_size = kDefaultCallstackSize;

  // Fixes the stream of random gaps.  With one thread and a deterministic program the same blocks
  // are sampled again.  Default: unpredictable; see Statistics::seed.
  std::optional<uint64_t> seed;

  // Joins trackers that already sample.  Without it, start fails while another tracker that was
  // started without it is sampling.
  bool concurrent = false;
};

// Identifies one start, for programs with several trackers.
struct TrackerId {
  uint32_t value = 0;
};

enum class StopMode {
  kDiscard,       // OCaml 4.14: forget all blocks; no callback begins later
  kKeepTracking,  // OCaml 5: go on following them until discard()
};

class Tracker {
 public:
  struct Statistics {
    double rate = 0;
    uint64_t seed = 0;
    uint64_t n_samples = 0;        // words hit, over all reported blocks
    uint64_t reported_blocks = 0;  // alloc callbacks called
    uint64_t dropped_blocks = 0;   // sampled, but there was no room to follow them
    uint64_t dropped_bytes = 0;
    uint64_t cut_callstacks = 0;  // reported with frames left out
    uint64_t callback_exceptions = 0;
  };

  // Samples every word allocated from now on, by any thread, with probability `rate`.
  // The tracker is moved in, and destroyed when it is discarded and its last callback
  // has returned.  Fails with
  //   kInvalidArgument     the rate is NaN or outside [0, 1]; a callstack_size over 1024
  //   kFailedPrecondition  already started; or no heap that reports is linked or preloaded
  //   kResourceExhausted   eight trackers sample already, or sixteen exist
  template <typename UserTracker>
  static absl::StatusOr<TrackerId> start(double rate, UserTracker tracker,
                                         StartOptions options = {}) {
    return StartClient(rate, options,
                       std::make_unique<internal::Client<UserTracker>>(std::move(tracker)));
  }

  // Stops the plain tracker, or the one named.  Fails with kFailedPrecondition when it is not
  // sampling.  Callbacks that other threads have begun may still be running when it returns.
  static absl::Status stop(StopMode mode = StopMode::kDiscard);
  static absl::Status stop(TrackerId id, StopMode mode = StopMode::kDiscard);

  // Ends the tracking of a stopped tracker: no callback begins afterwards.  Fails with
  // kFailedPrecondition if it still samples, kNotFound if it was discarded.
  static absl::Status discard(TrackerId id);

  // Calls survive_minor or survive_major once for each block that a stopped tracker still follows,
  // with its value, then discards it.  Blocks that other threads free meanwhile get either this or
  // their dealloc callback.  Fails like discard().
  static absl::Status drain(TrackerId id);

  // The live blocks that the tracker follows, by call stack, most bytes first.  The program goes on
  // meanwhile: a block that lives throughout is counted once.  Empty for a tracker that was
  // discarded.  Cost: about 10 ns for each entry ever used at once.
  static std::vector<LiveStack> snapshot(TrackerId id);

  // The same by the labels at the blocks' allocation; blocks without labels have an empty set.
  static std::vector<LiveLabels> snapshot_by_labels(TrackerId id);

  // The same by type and call stack, for managed heaps; malloc's blocks have no type.
  static std::vector<LiveTypeStack> snapshot_by_types(TrackerId id);

  // Whether the plain tracker (one started without `concurrent`) is sampling.
  static bool is_sampling();

  // Returns exact numbers while no thread allocates; otherwise each number alone is exact.  Fails
  // with kNotFound if the tracker was discarded, so read it before a plain stop().
  static absl::StatusOr<Statistics> statistics(TrackerId id);

 private:
  static absl::StatusOr<TrackerId> StartClient(double rate, const StartOptions& options,
                                               std::unique_ptr<internal::SessionClient> client);
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_TRACKER_H_

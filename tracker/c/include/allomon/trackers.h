// Trackers: sample allocations and follow the sampled blocks.  tracker/tracker.h for C, with the
// same rules.
//
//   allomon_tracker_options options = ALLOMON_TRACKER_DEFAULTS;
//   allomon_tracker tracker;
//   allomon_tracker_start(&options, NULL, &tracker);   // follows blocks, for snapshots
//   ...
//   allomon_tracker_snapshot(tracker, each, NULL);
//   allomon_tracker_stop(tracker, ALLOMON_DISCARD);
#ifndef ALLOMON_ALLOMON_TRACKERS_H_
#define ALLOMON_ALLOMON_TRACKERS_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/allocation.h"
#include "allomon/in_process.h"
#include "allomon/labels.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// Identifies one start.  Ids are never reused; 0 is invalid.
typedef uint32_t allomon_tracker;

// Room for a value that a callback keeps with a block: two words, which Allomon does not read.
// They are 0 when alloc is called, stay at one address until the block is promoted, and are passed
// to each later callback for the block.
typedef struct allomon_value {
  uint64_t words[2];
} allomon_value;

// The functions of a tracker.  Each may be null.
//
// alloc_minor is for blocks born in a nursery, alloc_major for others (malloc).  These and promote
// return whether to follow the block further: 0 ends its tracking, and the value is dropped.  A
// null function does the same.  The callbacks of a block are: alloc, then promote at most once,
// then one of dealloc, survive and forget, which ends the value.  If dealloc, survive or promote is
// due and is null, forget runs instead.
//
// They run on the thread that allocates or frees: alloc before malloc returns, dealloc before the
// memory can be reused.  In a callback the thread is not sampled.  It may allocate, free, lock,
// start and stop trackers.  Several threads may be in callbacks at once.  A C++ exception from a
// callback is counted and ends the tracking of the block.  A callback may end its thread
// (pthread_exit), if it was compiled with unwind tables.
//
// Callbacks of an interpreted language (Python's ctypes) do not work: they run inside malloc, which
// the interpreter calls with and without its lock held, so that they deadlock or run the
// interpreter where it does not expect it.  Use snapshots, statistics or a recording with such a
// language.
typedef struct allomon_callbacks {
  size_t struct_size;
  void* user;  // the first argument of each callback
  int32_t (*alloc_minor)(void* user, const allomon_allocation* allocation, allomon_value* value);
  int32_t (*alloc_major)(void* user, const allomon_allocation* allocation, allomon_value* value);
  int32_t (*promote)(void* user, allomon_value* value);
  // The block dies.
  void (*dealloc_minor)(void* user, allomon_value* value);
  void (*dealloc_major)(void* user, allomon_value* value);
  // The block is still alive at allomon_tracker_drain().
  void (*survive_minor)(void* user, const allomon_allocation* allocation, allomon_value* value);
  void (*survive_major)(void* user, const allomon_allocation* allocation, allomon_value* value);
  // The tracker is discarded, and gets no more callbacks for the block: release the memory that the
  // value holds.
  void (*forget_minor)(void* user, allomon_value* value);
  void (*forget_major)(void* user, allomon_value* value);
  // Called after alloc_major, for a block that the guard has chosen (ALLOMON_GUARD): writes up to
  // `room_bytes` about it for the report of a memory error, and returns the number of bytes
  // written.
  size_t (*describe)(void* user, const allomon_value* value, char* text, size_t room_bytes);
  // Returns the number of callbacks that failed in the user's code, for
  // allomon_tracker_statistics().
  uint64_t (*failures)(void* user);
  // The tracker was discarded and its last callback has returned: release `user`.  Not called if
  // the start fails.
  void (*destroy)(void* user);
} allomon_callbacks;
#define ALLOMON_CALLBACKS_DEFAULTS \
  { sizeof(allomon_callbacks), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct allomon_tracker_options {
  size_t struct_size;
  double rate;    // hits per word of 8 bytes, in [0, 1]
  uint64_t seed;  // of the random gaps, if has_seed; else unpredictable
  int32_t has_seed;
  uint32_t callstack_size;  // innermost frames kept, at most 1024; 0 captures nothing
  int32_t is_concurrent;    // samples concurrently; else one plain tracker samples at a time
  int32_t unused;
} allomon_tracker_options;
#define ALLOMON_TRACKER_DEFAULTS \
  { sizeof(allomon_tracker_options), 1e-4, 0, 0, 128, 0, 0 }

// Samples the allocations of all threads from now on.  `options` null: ALLOMON_TRACKER_DEFAULTS.
// `callbacks` null: follows each sampled block, for snapshots; else the structure is copied.
// `*tracker` becomes the id, 0 if the start fails: with ALLOMON_INVALID_ARGUMENT, ALLOMON_BAD_RATE,
// ALLOMON_BAD_CALLSTACK_SIZE, ALLOMON_ALREADY_STARTED, ALLOMON_TOO_MANY, ALLOMON_STANDS_ASIDE,
// ALLOMON_NO_HEAP, ALLOMON_OUT_OF_MEMORY.  With ALLOMON_ABSENT it stays unchanged.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_start,
                   (const allomon_tracker_options* options, const allomon_callbacks* callbacks,
                    allomon_tracker* tracker),
                   (options, callbacks, tracker), ALLOMON_ABSENT)

enum {
  ALLOMON_DISCARD = 0,        // forget all followed blocks; no callback but forget begins
  ALLOMON_KEEP_TRACKING = 1,  // go on following them until the tracker is discarded
};

// Stops sampling.  0 stands for the plain tracker.  Fails with ALLOMON_NOT_STARTED, or
// ALLOMON_INVALID_ARGUMENT for another mode.  Callbacks that other threads have begun may still run
// when it returns.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_stop, (allomon_tracker tracker, int32_t mode),
                   (tracker, mode), ALLOMON_ABSENT)

// Ends the tracking of a stopped tracker.  Fails with ALLOMON_NOT_STOPPED, ALLOMON_NO_SUCH_TRACKER.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_discard, (allomon_tracker tracker), (tracker),
                   ALLOMON_ABSENT)

// Calls survive_minor or survive_major for each block that a stopped tracker still follows, then
// discards it.  Fails like allomon_tracker_discard().
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_drain, (allomon_tracker tracker), (tracker),
                   ALLOMON_ABSENT)

// Returns the plain tracker that samples now, or 0.
ALLOMON_C_FUNCTION(allomon_tracker, allomon_tracker_sampling, (void), (), 0)

// The live blocks of one call stack.  Made by the library, valid until the function that gets it
// returns; the frames for as long as the process runs.
typedef struct allomon_live_stack {
  size_t struct_size;
  const uintptr_t* frames;  // as in allomon_allocation
  uint32_t n_frames;
  uint32_t callstack_id;
  int32_t is_cut;
  int32_t unused;
  uint64_t sampled_blocks;
  allomon_estimate blocks;
  allomon_estimate bytes;
} allomon_live_stack;

// Calls `each` for every stack with live blocks that the tracker follows, most bytes first, until
// it returns a value other than 0.  `each` may allocate, and may do all that callbacks may do.  The
// program runs on meanwhile: a block that lives throughout is counted once.  Fails with
// ALLOMON_NO_SUCH_TRACKER, ALLOMON_INVALID_ARGUMENT, ALLOMON_OUT_OF_MEMORY.  Cost: about 10 ns
// for each of the most entries ever used at once, and 80 bytes for each stack ever seen.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_snapshot,
                   (allomon_tracker tracker,
                    int32_t (*each)(void* user, const allomon_live_stack* stack), void* user),
                   (tracker, each, user), ALLOMON_ABSENT)

// The live blocks of one set of labels (labels.h).
typedef struct allomon_live_labels {
  size_t struct_size;
  allomon_labels labels;  // 0: none
  uint32_t unused;
  uint64_t sampled_blocks;
  allomon_estimate blocks;
  allomon_estimate bytes;
} allomon_live_labels;

// Like allomon_tracker_snapshot(), but by the labels at the blocks' allocation.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_snapshot_by_labels,
                   (allomon_tracker tracker,
                    int32_t (*each)(void* user, const allomon_live_labels* labels), void* user),
                   (tracker, each, user), ALLOMON_ABSENT)

typedef struct allomon_tracker_counts {
  size_t struct_size;
  double rate;
  uint64_t seed;
  uint64_t n_samples;        // words hit, over all reported blocks
  uint64_t reported_blocks;  // alloc callbacks called
  uint64_t dropped_blocks;   // sampled, but there was no room to follow them
  uint64_t dropped_bytes;
  uint64_t cut_callstacks;     // reported with frames left out
  uint64_t callback_failures;  // exceptions, and the result of `failures`
} allomon_tracker_counts;
#define ALLOMON_TRACKER_COUNTS \
  { sizeof(allomon_tracker_counts), 0, 0, 0, 0, 0, 0, 0, 0 }

// Stores the fields within counts->struct_size, which the caller has set.  Exact while no thread
// allocates.  Fails with ALLOMON_NO_SUCH_TRACKER, ALLOMON_INVALID_ARGUMENT.
ALLOMON_C_FUNCTION(allomon_status, allomon_tracker_statistics,
                   (allomon_tracker tracker, allomon_tracker_counts* counts), (tracker, counts),
                   ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_TRACKERS_H_

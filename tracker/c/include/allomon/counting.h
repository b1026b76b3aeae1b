// Counts exactly what the calling thread allocates between two calls: for tests that must fail when
// a change allocates more.
//
//   allomon_counting counting = {0};
//   allomon_counting_start(&counting, NULL);
//   Parse(line);
//   allomon_counting_stop(&counting);
//   allomon_allocation_totals totals = ALLOMON_ALLOCATION_TOTALS;
//   allomon_counting_read(&counting, &totals);
//   allomon_counting_end(&counting);
//
// What counts: blocks that the thread takes from malloc, operator new and their kin, managed
// objects and custom memory, with bytes as requested.  realloc is one allocation of the new size
// and one free, and both blocks are in the peak.  Frees count on any thread, of blocks that were
// counted.  What runs in trackers' callbacks does not count, nor what these functions allocate.
// Countings nest, each with numbers of its own.
//
// A counting is a tracker at rate 1, one of the eight that may sample at once: all threads are slow
// meanwhile (tracker/gates/README.md).
//
// Thread rule: one thread starts, stops and ends a counting.  Not in callbacks of trackers, and not
// in signal handlers.
#ifndef ALLOMON_ALLOMON_COUNTING_H_
#define ALLOMON_ALLOMON_COUNTING_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// A counting, in memory of the caller's, all zero before its start.
typedef struct allomon_counting {
  void* books;  // the library's, from start to end
} allomon_counting;

typedef struct allomon_counting_options {
  size_t struct_size;
  uint32_t callstack_size;  // innermost frames kept, at most 1024
  int32_t unused;
} allomon_counting_options;
#define ALLOMON_COUNTING_DEFAULTS \
  { sizeof(allomon_counting_options), 128, 0 }

// Begins; the last thing that it does.  `options` null: ALLOMON_COUNTING_DEFAULTS.  Nothing is to
// be ended if it fails: with ALLOMON_INVALID_ARGUMENT, ALLOMON_ALREADY_STARTED,
// ALLOMON_BAD_CALLSTACK_SIZE, ALLOMON_TOO_MANY, ALLOMON_STANDS_ASIDE, ALLOMON_NO_HEAP,
// ALLOMON_OUT_OF_MEMORY.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_start,
                   (allomon_counting * counting, const allomon_counting_options* options),
                   (counting, options), ALLOMON_ABSENT)

// Ends the counting of allocations and frees, before it does anything else.  The numbers stay.
// Fails with ALLOMON_INVALID_ARGUMENT for what was not started or has ended, and
// ALLOMON_NOT_STARTED the second time.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_stop, (allomon_counting * counting), (counting),
                   ALLOMON_ABSENT)

typedef struct allomon_allocation_totals {
  size_t struct_size;
  uint64_t blocks;       // allocated
  uint64_t bytes;        // allocated, as requested
  uint64_t peak_bytes;   // the most that lived at once of what was allocated
  uint64_t live_blocks;  // not freed yet
  uint64_t live_bytes;
  uint64_t lost_blocks;  // of the process, that memory did not suffice for: not exact if not 0
} allomon_allocation_totals;
#define ALLOMON_ALLOCATION_TOTALS \
  { sizeof(allomon_allocation_totals), 0, 0, 0, 0, 0, 0 }

// Fills in the fields that lie within totals->struct_size, which the caller has set.  Any thread,
// also before the stop.  Fails with ALLOMON_INVALID_ARGUMENT.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_read,
                   (const allomon_counting* counting, allomon_allocation_totals* totals),
                   (counting, totals), ALLOMON_ABSENT)

// One call stack.  Valid until the function that is given it returns; the frames for as long as the
// process runs.  No frames: all stacks beyond the first 4,096.
typedef struct allomon_counted_stack {
  size_t struct_size;
  const uintptr_t* frames;  // as in allomon_allocation
  uint32_t n_frames;
  int32_t is_cut;  // whether outer frames were left out
  uint64_t blocks;
  uint64_t bytes;
  uint64_t live_blocks;
  uint64_t live_bytes;
} allomon_counted_stack;

// Calls `each` for every call stack that was counted, in no order, until it answers other than 0.
// After the stop.  Fails with ALLOMON_INVALID_ARGUMENT, ALLOMON_NOT_STOPPED.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_stacks,
                   (const allomon_counting* counting,
                    int32_t (*each)(void* user, const allomon_counted_stack* stack), void* user),
                   (counting, each, user), ALLOMON_ABSENT)

// Stops it if it counts, and frees the numbers.  Nothing to do for one that has not begun.
ALLOMON_C_PROCEDURE(allomon_counting_end, (allomon_counting * counting), (counting))

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_COUNTING_H_

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
// objects and custom memory, with bytes as requested. realloc is one allocation of the new size and
// one free, and both blocks are in the peak.  Frees of counted blocks count on any thread.
// Allocations in trackers' callbacks do not count, nor those of these functions.  Countings nest,
// each with numbers of its own.
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

// A counting, in the caller's memory, which must be zero before the start.
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

// Starts counting as its last action.  `options` null: ALLOMON_COUNTING_DEFAULTS.  If it fails,
// nothing needs to be ended: with ALLOMON_INVALID_ARGUMENT, ALLOMON_ALREADY_STARTED,
// ALLOMON_BAD_CALLSTACK_SIZE, ALLOMON_TOO_MANY, ALLOMON_STANDS_ASIDE, ALLOMON_NO_HEAP,
// ALLOMON_OUT_OF_MEMORY.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_start,
                   (allomon_counting * counting, const allomon_counting_options* options),
                   (counting, options), ALLOMON_ABSENT)

// Stops counting as its first action.  The numbers stay.  Fails with ALLOMON_INVALID_ARGUMENT if it
// was not started or has ended, and ALLOMON_NOT_STARTED the second time.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_stop, (allomon_counting * counting), (counting),
                   ALLOMON_ABSENT)

typedef struct allomon_allocation_totals {
  size_t struct_size;
  uint64_t blocks;       // allocated
  uint64_t bytes;        // allocated, as requested
  uint64_t peak_bytes;   // the maximum of live_bytes so far
  uint64_t live_blocks;  // not freed yet
  uint64_t live_bytes;
  uint64_t lost_blocks;  // of the process, for which memory was short: not exact if not 0
} allomon_allocation_totals;
#define ALLOMON_ALLOCATION_TOTALS \
  { sizeof(allomon_allocation_totals), 0, 0, 0, 0, 0, 0 }

// Stores the fields within totals->struct_size, which the caller has set.  Any thread, also before
// the stop.  Fails with ALLOMON_INVALID_ARGUMENT.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_read,
                   (const allomon_counting* counting, allomon_allocation_totals* totals),
                   (counting, totals), ALLOMON_ABSENT)

// One call stack.  Valid until the function that gets it returns; the frames for as long as the
// process runs.  An entry without frames is the sum of all stacks after the first 3,584.
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

// Calls `each` for every call stack that was counted, in no order, until it returns a value other
// than 0.  Call it after the stop.  Fails with ALLOMON_INVALID_ARGUMENT, ALLOMON_NOT_STOPPED.
ALLOMON_C_FUNCTION(allomon_status, allomon_counting_stacks,
                   (const allomon_counting* counting,
                    int32_t (*each)(void* user, const allomon_counted_stack* stack), void* user),
                   (counting, each, user), ALLOMON_ABSENT)

// Stops counting if necessary, and frees the numbers.  Does nothing if the counting has not begun.
ALLOMON_C_PROCEDURE(allomon_counting_end, (allomon_counting * counting), (counting))

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_COUNTING_H_

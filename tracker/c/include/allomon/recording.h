// Records the heap of this process into a file, which `allomon report` shows: whole call stacks
// with their allocations, the live blocks, the live blocks at the peak, and the lifetimes of
// blocks.  tracker/recording.h for C.
//
// The file is mapped: it can be read at any moment, even if the process was killed.  A child of
// fork records into a file of its own: the name with another %p, or with a dot and the process id
// appended.
#ifndef ALLOMON_ALLOMON_RECORDING_H_
#define ALLOMON_ALLOMON_RECORDING_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// Identifies a recording.  No tracker has the same number; 0 is invalid.
typedef uint32_t allomon_recording;

typedef struct allomon_recording_options {
  size_t struct_size;
  const char* path;      // a file of that name is replaced; %p is the process id, %% a percent sign
  double rate;           // hits per word of 8 bytes, in [0, 1]
  uint64_t seed;         // of the random gaps, if has_seed; else unpredictable
  uint64_t limit_bytes;  // maximum size of the file: from 1 MiB to 16 GiB
  int32_t has_seed;
  uint32_t callstack_size;  // innermost frames kept, at most 1024
  char* error_text;         // the caller's, or null: the error, if the file cannot be made
  size_t error_bytes;       // its size, including the final 0
} allomon_recording_options;
#define ALLOMON_RECORDING_DEFAULTS \
  { sizeof(allomon_recording_options), 0, 1e-4, 0, 268435456, 0, 128, 0, 0 }

// Starts a recording.  `*recording` becomes the id, 0 if the start fails: with
// ALLOMON_INVALID_ARGUMENT (a null pointer, no path), ALLOMON_BAD_RATE, ALLOMON_BAD_CALLSTACK_SIZE,
// ALLOMON_BAD_LIMIT, ALLOMON_CANNOT_RECORD, ALLOMON_TOO_MANY (there are two recordings already, or
// too many trackers), ALLOMON_STANDS_ASIDE, ALLOMON_NO_HEAP.  With ALLOMON_ABSENT it and the text
// stay unchanged.
ALLOMON_C_FUNCTION(allomon_status, allomon_recording_start,
                   (const allomon_recording_options* options, allomon_recording* recording),
                   (options, recording), ALLOMON_ABSENT)

// Ends a recording: nothing more is added; live blocks stay live in the file.  Fails with
// ALLOMON_NO_SUCH_RECORDING.
ALLOMON_C_FUNCTION(allomon_status, allomon_recording_stop, (allomon_recording recording),
                   (recording), ALLOMON_ABSENT)

// Writes the path of this process's file, with a final 0.  In a child of fork it is the child's own
// file; if the child's recording has not begun, it begins.  Fails with ALLOMON_NO_SUCH_RECORDING,
// ALLOMON_INVALID_ARGUMENT (no text, or no room for it: 4096 bytes are enough),
// ALLOMON_CANNOT_RECORD (the child's cannot begin, the file was truncated, or several processes
// share it).
ALLOMON_C_FUNCTION(allomon_status, allomon_recording_path,
                   (allomon_recording recording, char* text, size_t room_bytes),
                   (recording, text, room_bytes), ALLOMON_ABSENT)

typedef struct allomon_recording_counts {
  size_t struct_size;
  uint64_t samples;          // sampled blocks in the file, of this process
  uint64_t dropped_samples;  // those without room
  uint64_t dropped_bytes;    // the sizes of their blocks
  int32_t is_lost;           // the file was truncated; all since then is dropped
  int32_t unused;
} allomon_recording_counts;
#define ALLOMON_RECORDING_COUNTS \
  { sizeof(allomon_recording_counts), 0, 0, 0, 0, 0 }

// Stores the fields within counts->struct_size, which the caller has set.  Fails with
// ALLOMON_NO_SUCH_RECORDING, ALLOMON_INVALID_ARGUMENT.
ALLOMON_C_FUNCTION(allomon_status, allomon_recording_statistics,
                   (allomon_recording recording, allomon_recording_counts* counts),
                   (recording, counts), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_RECORDING_H_

// What is known of a sampled block, and what it stands for.
#ifndef ALLOMON_ALLOMON_ALLOCATION_H_
#define ALLOMON_ALLOMON_ALLOCATION_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/labels.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// Where a block came from.
typedef int32_t allomon_source;
enum {
  ALLOMON_SOURCE_NORMAL = 0,   // a block of a managed heap
  ALLOMON_SOURCE_MARSHAL = 1,  // a managed block read by unmarshalling
  ALLOMON_SOURCE_CUSTOM = 2,   // bytes that their owner reported (custom_memory.h)
  ALLOMON_SOURCE_MALLOC = 3,   // malloc, operator new and their kin
};

// A sampled block, made by the library.  Valid until the callback returns; the frames for as long
// as the process runs.
typedef struct allomon_allocation {
  size_t struct_size;       // of the library's version: fields beyond it are not there
  uint64_t n_samples;       // the block's words that were hit, the header word included; 1 or more
  uint64_t size_bytes;      // as requested, without header
  double rate;              // the tracker's, by which estimates divide
  const uintptr_t* frames;  // return addresses, innermost first: frame 0 is the call that allocated
  uint32_t n_frames;
  uint32_t callstack_id;  // equal stacks have equal ids; dense, from 1; 0 is the empty stack
  int32_t is_cut;         // whether outer frames were left out
  allomon_source source;
  int32_t is_young;       // whether it was born in a nursery and has not been promoted
  uint32_t thread;        // the kernel's number of the one that the callback runs on
  allomon_labels labels;  // that stood when it was allocated (labels.h); 0: none
} allomon_allocation;

// A total over all blocks of the program, estimated from sampled ones, and its variance.  The sum
// of two has the sum of their variances.
typedef struct allomon_estimate {
  double value;
  double variance;
} allomon_estimate;

// What this one block stands for: its 1 / p blocks and bytes / p bytes, where p is the probability
// that a block of its size is sampled.  Fails with ALLOMON_INVALID_ARGUMENT for a null pointer.
// Also in callbacks.  Cost: two logarithms.
ALLOMON_C_FUNCTION(allomon_status, allomon_allocation_estimate,
                   (const allomon_allocation* allocation, allomon_estimate* blocks,
                    allomon_estimate* bytes),
                   (allocation, blocks, bytes), ALLOMON_ABSENT)

// Writes the name of the function that contains the code at `address` into `text`, with a 0 behind,
// cut to `room_bytes`.  A caller with a return address passes one less.  Code without a symbol is
// "module+0xoffset".  Fails with ALLOMON_INVALID_ARGUMENT where there is no room, and
// ALLOMON_NOT_FOUND where no module is mapped.  Not in callbacks that run inside malloc.  Takes a
// lock.  Cost: the first question about a module reads its symbols (the C library: 2 ms); then
// microseconds.
ALLOMON_C_FUNCTION(allomon_status, allomon_function_name,
                   (uintptr_t address, char* text, size_t room_bytes), (address, text, room_bytes),
                   ALLOMON_ABSENT)

// Writes the file of a function that an interpreter runs (interpreter.h), or that was registered
// (managed_functions.h), and the line that runs; `line` may be null.  Else as
// allomon_function_name(), but native code is ALLOMON_NOT_FOUND: `allomon report` knows its lines.
// Also in callbacks.  No lock, no file is read.
ALLOMON_C_FUNCTION(allomon_status, allomon_source_line,
                   (uintptr_t address, char* text, size_t room_bytes, uint32_t* line),
                   (address, text, room_bytes, line), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_ALLOCATION_H_

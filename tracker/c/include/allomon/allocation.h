// A sampled block: its facts, and estimates from it.
#ifndef ALLOMON_ALLOMON_ALLOCATION_H_
#define ALLOMON_ALLOMON_ALLOCATION_H_

#include <stddef.h>
#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/labels.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// The origin of a block.
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
  size_t struct_size;       // the library's: fields beyond it do not exist
  uint64_t n_samples;       // the block's words that were hit, the header word included; 1 or more
  uint64_t size_bytes;      // as requested, without header
  double rate;              // the tracker's rate; estimates divide by it
  const uintptr_t* frames;  // return addresses, innermost first: frame 0 is the call that allocated
  uint32_t n_frames;
  uint32_t callstack_id;  // equal stacks have equal ids; dense, from 1; 0 is the empty stack
  int32_t is_cut;         // whether outer frames were left out
  allomon_source source;
  int32_t is_young;       // whether it was born in a nursery and has not been promoted
  uint32_t thread;        // thread id (kernel's) of the thread that runs the callback
  allomon_labels labels;  // set on the thread at the allocation (labels.h); 0: none
} allomon_allocation;

// An estimated total over all blocks of the program, with its variance.  The variance of a sum of
// two is the sum of their variances.
typedef struct allomon_estimate {
  double value;
  double variance;
} allomon_estimate;

// Estimates how many blocks and bytes of the program this one block represents: 1 / p and bytes /
// p, where p is the probability that a block of its size is sampled.  Fails with
// ALLOMON_INVALID_ARGUMENT for a null pointer.  Also in callbacks.  Cost: two logarithms.
ALLOMON_C_FUNCTION(allomon_status, allomon_allocation_estimate,
                   (const allomon_allocation* allocation, allomon_estimate* blocks,
                    allomon_estimate* bytes),
                   (allocation, blocks, bytes), ALLOMON_ABSENT)

// Writes the name of the function that contains the code at `address` into `text`, with a final 0,
// cut to `room_bytes`.  For a return address, pass one less.  Code without a symbol is
// "module+0xoffset".  Fails with ALLOMON_INVALID_ARGUMENT if there is no room, and
// ALLOMON_NOT_FOUND if no module is mapped at the address.  Not in callbacks that run inside
// malloc.  Takes a lock.  Cost: the first call for a module reads its symbols (the C library: 2
// ms); later calls take microseconds.
ALLOMON_C_FUNCTION(allomon_status, allomon_function_name,
                   (uintptr_t address, char* text, size_t room_bytes), (address, text, room_bytes),
                   ALLOMON_ABSENT)

// Writes the file of a function that an interpreter runs (interpreter.h), or that was registered
// (managed_functions.h), and the current line; `line` may be null.  Otherwise like
// allomon_function_name(), but native code is ALLOMON_NOT_FOUND: `allomon report` knows its lines.
// Also in callbacks.  Takes no lock and reads no file.
ALLOMON_C_FUNCTION(allomon_status, allomon_source_line,
                   (uintptr_t address, char* text, size_t room_bytes, uint32_t* line),
                   (address, text, room_bytes, line), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_ALLOCATION_H_

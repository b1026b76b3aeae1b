// Out-of-heap bytes that their owner reports: a mapped file, a GPU buffer, an arena.  They are
// sampled like all other memory, with ALLOMON_SOURCE_CUSTOM and no header word.
//
//   allomon_custom_memory memory = allomon_custom_memory_report(mapping_size_bytes);
//   ...
//   allomon_custom_memory_release(memory);
#ifndef ALLOMON_ALLOMON_CUSTOM_MEMORY_H_
#define ALLOMON_ALLOMON_CUSTOM_MEMORY_H_

#include <stdint.h>

#include "allomon/in_process.h"
#include "allomon/status.h"

ALLOMON_BEGIN_C_API

// The owner keeps it with the bytes.  0: they were not sampled, or there is no Allomon.
typedef uint32_t allomon_custom_memory;

// Reports new bytes: one trial per word of 8 bytes.  Runs alloc_major of trackers.  Never fails.
// Also in callbacks.  Cost: a call, a subtraction and a branch, unless they are sampled.
ALLOMON_C_FUNCTION(allomon_custom_memory, allomon_custom_memory_report, (uint64_t size_bytes),
                   (size_bytes), 0)

// Reports that the bytes are freed, and runs dealloc_major.  Call it once for each value that
// report returned, on any thread; 0 is harmless.
ALLOMON_C_PROCEDURE(allomon_custom_memory_release, (allomon_custom_memory memory), (memory))

// Says that a heap of the process reports its own blocks by these functions, so that trackers and
// recordings can start where no heap of Allomon's serves the process: where the preloaded library
// stands aside because the program has a malloc of its own, and where tracker/c is linked alone.
// Once, before the first report.  Without effect elsewhere.  Returns ALLOMON_OK, or ALLOMON_ABSENT.
ALLOMON_C_FUNCTION(allomon_status, allomon_custom_memory_serve, (void), (), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_CUSTOM_MEMORY_H_

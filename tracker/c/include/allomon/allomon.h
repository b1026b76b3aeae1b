// Allomon for C, and for languages that call C: samples the memory of its own process.
//
//   #include <allomon/allomon.h>
//
//   allomon_recording recording;
//   allomon_recording_options options = ALLOMON_RECORDING_DEFAULTS;
//   options.path = "/var/tmp/server.%p.rec";
//   allomon_status status = allomon_recording_start(&options, &recording);
//   if (status != ALLOMON_OK) puts(allomon_status_text(status));
//
// Nothing needs to be linked.  The functions are found if Allomon is linked into the executable
// (//tracker/c and //allocator:malloc), or if liballomon.so is preloaded; otherwise they return
// ALLOMON_ABSENT (in_process.h).  An executable shows its functions to plugins only if it exports
// them (-rdynamic).
//
// If a process has two copies of Allomon, the one whose malloc comes first samples.  The other one
// reports this in one line, and returns ALLOMON_STANDS_ASIDE.
//
// Rules that hold unless a function says otherwise:
//  - Any thread may call, also in callbacks of a tracker; not in a signal handler, and not from a
//    malloc of the caller's own.
//  - Arguments remain the caller's, and are read before the function returns.
//  - No function throws, waits for other threads, or ends the process.
//  - Sizes are in bytes and as requested; rates are hits per word of 8 bytes (tracker/README.md).
//
// Binary interface.  A structure begins with its size, which its *_DEFAULTS sets: later versions
// add fields at its end, and a smaller structure has the defaults of those that it lacks.
// Enumerators are int32_t; no field is a bit field.  Symbols have the version in which they came
// (ALLOMON_0.2).  Within a major version, and within a minor one before 1.0, no function is removed
// and none changes what it takes.  "Versions" in CONTRIBUTING.md has the policy.
#ifndef ALLOMON_ALLOMON_ALLOMON_H_
#define ALLOMON_ALLOMON_ALLOMON_H_

#include "allomon/allocation.h"
#include "allomon/counting.h"
#include "allomon/custom_memory.h"
#include "allomon/interpreter.h"
#include "allomon/labels.h"
#include "allomon/recording.h"
#include "allomon/status.h"
#include "allomon/trackers.h"

#endif  // ALLOMON_ALLOMON_ALLOMON_H_

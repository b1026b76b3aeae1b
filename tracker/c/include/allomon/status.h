// Versions, and statuses that functions of the C interface return.  Any thread; also in callbacks
// and signal handlers.
#ifndef ALLOMON_ALLOMON_STATUS_H_
#define ALLOMON_ALLOMON_STATUS_H_

#include <stdint.h>

#include "allomon/in_process.h"

ALLOMON_BEGIN_C_API

// The version of the headers.  allomon_version() returns that of the code in the process.
#define ALLOMON_VERSION_MAJOR 0
#define ALLOMON_VERSION_MINOR 2
#define ALLOMON_VERSION_PATCH 0
#define ALLOMON_VERSION_NUMBER(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define ALLOMON_VERSION \
  ALLOMON_VERSION_NUMBER(ALLOMON_VERSION_MAJOR, ALLOMON_VERSION_MINOR, ALLOMON_VERSION_PATCH)

// 0, or one of the negative numbers below.  A later version may return numbers that are not listed
// here.
typedef int32_t allomon_status;
enum {
  ALLOMON_OK = 0,
  ALLOMON_ABSENT = -1,              // the process has no Allomon, or one without this function
  ALLOMON_INVALID_ARGUMENT = -2,    // a null pointer, a size that is too small, no path
  ALLOMON_STANDS_ASIDE = -3,        // another malloc comes before that of liballomon.so
  ALLOMON_NO_HEAP = -4,             // no heap of the process reports
  ALLOMON_BAD_RATE = -5,            // NaN or outside [0, 1]
  ALLOMON_BAD_CALLSTACK_SIZE = -6,  // larger than 1024
  ALLOMON_BAD_LIMIT = -7,           // of a recording: from 1 MiB to 16 GiB
  ALLOMON_ALREADY_STARTED = -8,     // another tracker that is not concurrent samples
  ALLOMON_TOO_MANY = -9,            // eight trackers sample, or sixteen exist
  ALLOMON_NOT_STARTED = -10,        // the tracker to be stopped does not sample
  ALLOMON_NOT_STOPPED = -11,        // the tracker still samples
  ALLOMON_NO_SUCH_TRACKER = -12,    // it was discarded, or never existed
  ALLOMON_NO_SUCH_RECORDING = -13,  // it was stopped, or never existed
  ALLOMON_CANNOT_RECORD = -14,      // the file cannot be made
  ALLOMON_NOT_FOUND = -15,          // the requested item does not exist
  ALLOMON_OUT_OF_MEMORY = -16,
};

// Returns the meaning of a status and its remedy: one line in English, static.  ALLOMON_OK: "ok".
ALLOMON_C_FUNCTION(const char*, allomon_status_text, (allomon_status status), (status),
                   status == ALLOMON_ABSENT
                       ? "no Allomon in this process: preload liballomon.so, or link Allomon"
                       : "unknown status")

// Returns the version of the code in the process, in the form of ALLOMON_VERSION; 0 without
// Allomon.
ALLOMON_C_FUNCTION(int32_t, allomon_version, (void), (), 0)

// Returns for example "0.2.0", static; "" without Allomon.
ALLOMON_C_FUNCTION(const char*, allomon_version_text, (void), (), "")

// Whether trackers and recordings can start: ALLOMON_OK, or ALLOMON_ABSENT, ALLOMON_STANDS_ASIDE,
// ALLOMON_NO_HEAP.  While the process runs only allomon_custom_memory_serve changes the result.
ALLOMON_C_FUNCTION(allomon_status, allomon_ready, (void), (), ALLOMON_ABSENT)

ALLOMON_END_C_API

#endif  // ALLOMON_ALLOMON_STATUS_H_

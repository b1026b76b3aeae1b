// Lets `allomon ctl` begin and end recordings of this process while it runs: a session that samples
// rarely, and reads the process's control page at each sample.
//
// A thread reads the page about once in 8 MiB that it allocates.  If there is no request, this
// takes some 750 instructions and no system call.  A request is carried out inside that allocation,
// like a callback of a tracker (tracker.h).  There is no thread, no socket and no signal.  A
// process that does not allocate does not read its page.
//
// A child of fork makes a page of its own when it first looks.
#ifndef ALLOMON_TRACKER_CONTROL_ATTENDANT_H_
#define ALLOMON_TRACKER_CONTROL_ATTENDANT_H_

#include <cstdint>
#include <optional>

#include "tracker/recording/watcher.h"

namespace allomon::control {

// Defaults of a recording, for values that the request does not set.
struct AttendOptions {
  const char* path = "";  // copied; "": the page's folder. %p is the process id
  double rate = 1e-4;     // hits per word
  uint64_t limit_bytes = uint64_t{256} << 20;
  std::optional<uint64_t> seed;
  recording::Watcher* watcher = nullptr;  // of recordings; nullptr: no watcher
};

// Starts to attend.  Call before main, or in a callback; once for the process.  Returns nullptr, or
// an error and its remedy.
const char* StartAttending(const AttendOptions& options);

// Removes the page at the end of the process.  Any thread, also in a signal handler.  Does nothing
// if there is no page, if it is a parent's, or the second time.
void EndAttending();

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_ATTENDANT_H_

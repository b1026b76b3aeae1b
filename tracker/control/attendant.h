// Lets `allomon ctl` begin and end recordings of this process while it runs: a session that samples
// rarely, and looks at the process's control page when it does.
//
// A thread looks once in about 8 MiB that it allocates, and finds nothing to do: some 750
// instructions, no system call.  A request is carried out inside that allocation, as a callback of
// a tracker is (tracker.h).  There is no thread, no socket and no signal.  A process that does not
// allocate does not look.
//
// A child of fork makes a page of its own at its first look.
#ifndef ALLOMON_TRACKER_CONTROL_ATTENDANT_H_
#define ALLOMON_TRACKER_CONTROL_ATTENDANT_H_

#include <cstdint>
#include <optional>

#include "tracker/recording/watcher.h"

namespace allomon::control {

// A thread's mean distance between looks.
inline constexpr uint64_t kGapBytes = uint64_t{8} << 20;

// What a recording is made with where the request does not say.
struct AttendOptions {
  const char* path = "";  // copied; "": beside the page.  %p is the process id
  double rate = 1e-4;     // hits per word
  uint64_t limit_bytes = uint64_t{256} << 20;
  std::optional<uint64_t> seed;
  recording::Watcher* watcher = nullptr;  // of recordings; nobody
};

// Before main, or in a callback; once for the process.  nullptr, or what is wrong and what to do.
const char* StartAttending(const AttendOptions& options);

// Removes the page, where the process ends.  Any thread, also in a signal handler; harmless if
// there is none, if the page is of a parent, or twice.
void EndAttending();

}  // namespace allomon::control

#endif  // ALLOMON_TRACKER_CONTROL_ATTENDANT_H_

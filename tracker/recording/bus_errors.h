// The last line against a named file that is truncated while it is written: the kernel then answers
// a store into its pages by SIGBUS.  The recorder looks at the file's length every 10 ms; this is
// for the time in between.
//
// The handler acts on addresses of watched mappings alone: it puts an empty page there, and the
// instruction goes on.  Any other SIGBUS goes to the action that was installed before ours.  A host
// that installs a handler of its own later is in front, and dies as it would of any SIGBUS that it
// does not expect; so does a thread that blocks SIGBUS.
#ifndef ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_
#define ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_

#include <atomic>
#include <cstddef>

namespace allomon::recording {

// Two recordings and a control page.
inline constexpr int kMostWatched = 3;

// The first call installs the handler.  At most kMostWatched mappings at once; others are not
// watched.  Under the recorder's lock.  Answers where the handler notes that it has put a page into
// this mapping.
const std::atomic<bool>* WatchBusErrors(const char* begin, size_t size_bytes);
void UnwatchBusErrors(const char* begin);

// Whether the handler has put a page into this mapping.
bool HadBusError(const char* begin);

// Whether a SIGBUS comes to our handler first.  A system call.
bool IsBusErrorHandlerInFront();

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_

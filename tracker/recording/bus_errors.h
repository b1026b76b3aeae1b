// The last protection of a named file that is truncated while it is written: the kernel then
// answers a store into its pages by SIGBUS.  The recorder checks the file's length every 10 ms; the
// handler covers the time in between.
//
// The handler acts only on addresses in watched mappings: it maps an empty page there, and the
// instruction is repeated.  Any other SIGBUS goes to the action that was installed before ours.  A
// host that installs a handler of its own later gets the signal first, and dies as it would of any
// unexpected SIGBUS; so does a thread that blocks SIGBUS.
#ifndef ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_
#define ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_

#include <atomic>
#include <cstddef>

namespace allomon::recording {

// Two recordings and a control page.
inline constexpr int kMostWatched = 3;

// Watches a mapping for SIGBUS. The first call installs the handler.  At most kMostWatched mappings
// are watched at once; more are ignored.  Callers hold the recorder's lock.  Returns the flag that
// the handler sets once it has put a page into this mapping.
const std::atomic<bool>* WatchBusErrors(const char* begin, size_t size_bytes);
void UnwatchBusErrors(const char* begin);

// Whether the handler has put a page into this mapping.
bool HadBusError(const char* begin);

// Whether a SIGBUS comes to our handler first.  A system call.
bool IsBusErrorHandlerInFront();

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_BUS_ERRORS_H_

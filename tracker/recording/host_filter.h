// A host that gives itself up to a filter of system calls (seccomp) while it runs: a filter may
// kill it for a call that it does not make itself.
//
// Its prctl() passes by here (thread_name_override.cc).  A filter that is installed by a system
// call by number, without PR_SET_NO_NEW_PRIVS, is not seen.
#ifndef ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_
#define ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_

#include <atomic>

namespace allomon::recording {

// Called before the host's prctl() takes effect; nullptr: nobody.
extern std::atomic<void (*)()> host_filter_hook;

// Whether there was one, or may be.  Any thread, also inside malloc.
bool HasFilter();

// `option` is prctl's.
void NoteFilter(int option);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_

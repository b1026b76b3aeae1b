// Detects that a host installs a filter of system calls (seccomp) while it runs.  Such a filter may
// kill the host for a call that the host does not make itself.
//
// The host's prctl() calls reach this module (thread_name_override.cc).  A filter that is installed
// by a system call by number, without PR_SET_NO_NEW_PRIVS, is not seen.
#ifndef ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_
#define ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_

#include <atomic>

namespace allomon::recording {

// Called before the host's prctl() takes effect.  nullptr: no hook.
extern std::atomic<void (*)()> host_filter_hook;

// Whether a filter was installed, or may be soon.  Any thread, also inside malloc.
bool HasFilter();

// `option` is prctl's.
void NoteFilter(int option);

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_HOST_FILTER_H_

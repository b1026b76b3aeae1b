// Registers threads, and removes them when they end.
#ifndef ALLOMON_TRACKER_CORE_THREAD_REGISTRATION_H_
#define ALLOMON_TRACKER_CORE_THREAD_REGISTRATION_H_

#include <atomic>

#include "tracker/core/thread_state.h"

namespace allomon::internal {

// Puts the thread into the registry, so that `start` reaches it.  The thread's first slow path
// calls it.  It may allocate (pthread_setspecific), so `busy` must be set (inv.busy).
void RegisterThreadSlow(ThreadState& thread);

// Called, if set, when a thread has left the registry at its end: the recorder's hook, then the
// heap's.
extern std::atomic<void (*)()> recorder_exit_hook;
extern std::atomic<void (*)()> thread_exit_hook;

// Copies the active set of the current epoch and reseeds the thread's generator.
void RefreshThreadSlow(ThreadState& thread);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_CORE_THREAD_REGISTRATION_H_

// How a thread comes to be profiled, and how it leaves.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

namespace allomon::internal {

// Gives the thread a shadow stack, counts in its current unit, and an end: it is detached when it
// exits.  Does nothing if it has them.  Allocates with mmap only; not in a signal handler.
// Whatever the kernel refuses, the thread goes on with less: no stack times, or counts that it
// shares.
void AttachThread();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

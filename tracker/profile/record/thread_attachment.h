// The attachment of threads that are profiled, and their detachment.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

namespace allomon::internal {

// Gives the thread a shadow stack, counts in its current unit, and a detachment when it exits.
// Does nothing if the thread has them.  Allocates with mmap only; not in a signal handler.  If the
// kernel refuses memory, the thread goes on with less: without stack times, or with shared counts.
void AttachThread();

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

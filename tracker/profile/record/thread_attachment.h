// The attachment of threads that are profiled, and their detachment.
#ifndef ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_
#define ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

#include <cstddef>

namespace allomon::internal {

// Gives the thread a shadow stack, counts in its current unit, and a detachment when it exits.
// Does nothing if the thread has them.  Not in a signal handler.  If the kernel refuses memory, the
// thread goes on with less: without stack times, or with shared counts.  `stack_bytes` is the size
// requested from pthread_create, with guard and TLS.  If it is 0 the size is read from the C
// library, which takes memory from malloc: four pages, in a thread that may need no memory at all.
void AttachThread(size_t stack_bytes = 0);

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_PROFILE_RECORD_THREAD_ATTACHMENT_H_

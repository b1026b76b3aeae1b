// The heap's own threads.
#ifndef ALLOMON_RUNTIME_INTERNAL_COLLECT_OWN_THREAD_H_
#define ALLOMON_RUNTIME_INTERNAL_COLLECT_OWN_THREAD_H_

#include <pthread.h>

#include <cstddef>

namespace allomon::gc::internal {

// Returns the number of processors on which the calling thread may run; 1 if that is not known.
size_t CountProcessors();

// Starts a thread with all signals blocked: the host's handlers run on the host's threads.  False
// when the system refuses.  Calls malloc, with no sample judged; not while a world is stopped by
// the caller.
bool StartOwnThread(pthread_t* thread, void* (*run)(void*), void* argument);

}  // namespace allomon::gc::internal

#endif  // ALLOMON_RUNTIME_INTERNAL_COLLECT_OWN_THREAD_H_

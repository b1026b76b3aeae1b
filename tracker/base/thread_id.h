// The kernel's id of the calling thread, without a system call: a host's seccomp filter may kill
// the process for one.
#ifndef ALLOMON_TRACKER_BASE_THREAD_ID_H_
#define ALLOMON_TRACKER_BASE_THREAD_ID_H_

#include <pthread.h>

#include <cstdint>

namespace allomon::internal {

// Reads the id from a recursive mutex, in which the C library stores the owner's kernel id.  Also
// correct in a child of fork, but not after a bare clone().  Any thread, inside malloc.
inline uint32_t OwnThreadId() {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_lock(&mutex);
  const int owner = mutex.__data.__owner;
  pthread_mutex_unlock(&mutex);
  return static_cast<uint32_t>(owner);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_THREAD_ID_H_

// The kernel's number of the calling thread, without a system call: a host's seccomp filter may
// kill who makes one.
#ifndef ALLOMON_TRACKER_BASE_THREAD_ID_H_
#define ALLOMON_TRACKER_BASE_THREAD_ID_H_

#include <pthread.h>

#include <cstdint>

namespace allomon::internal {

// The C library notes the owner of a recursive mutex, by the number that it has from the kernel.
// Right in a child of fork, too, but not behind a bare clone().  Any thread, inside malloc.
inline uint32_t OwnThreadId() {
  pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  pthread_mutex_lock(&mutex);
  const int owner = mutex.__data.__owner;
  pthread_mutex_unlock(&mutex);
  return static_cast<uint32_t>(owner);
}

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_BASE_THREAD_ID_H_

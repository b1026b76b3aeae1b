// The names of threads, as the program gives them: pthread_setname_np() and prctl() of the program
// pass by here (thread_name_override.cc).  To ask the kernel would be a system call in the middle
// of a malloc, for which a host's seccomp filter might kill it.
//
// A name that is given by other ways (a write to /proc, a system call by number) is not seen.
#ifndef ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_
#define ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_

#include <pthread.h>

namespace allomon::recording {

struct ThreadName {
  char text[16];  // ends with zeros, as the kernel's
};

// The calling thread's.  Empty if it was given none.  Under the recorder's lock.
ThreadName TakeOwnName();

// Any thread, not in a signal handler.  A longer name is cut.
void NoteThreadName(pthread_t thread, const char* name);

// What the kernel says: the program's file, or what the creator of a process was called.  A system
// call.
ThreadName NameByKernel();

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_

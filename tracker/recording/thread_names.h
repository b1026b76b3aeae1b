// The names that the program gives its threads.  The program's pthread_setname_np() and prctl()
// reach this module (thread_name_override.cc).  A query to the kernel would be a system call inside
// malloc, for which a host's seccomp filter might kill it.
//
// Names given in other ways (a write to /proc, a system call by number) are not seen.
#ifndef ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_
#define ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_

#include <pthread.h>

namespace allomon::recording {

struct ThreadName {
  char text[16];  // ends with zeros, as the kernel's
};

// Takes the calling thread's name; empty if it was given none.  Callers hold the recorder's lock.
ThreadName TakeOwnName();

// Notes a name, cut to the room of a ThreadName.  Any thread, not in a signal handler.
void NoteThreadName(pthread_t thread, const char* name);

// Returns the kernel's name of the calling thread: the program's file, or the name of the thread
// that made the process.  A system call.
ThreadName NameByKernel();

}  // namespace allomon::recording

#endif  // ALLOMON_TRACKER_RECORDING_THREAD_NAMES_H_

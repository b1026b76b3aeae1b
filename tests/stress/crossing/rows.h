// The rows of the table: what a host does that profilers are known to fail at.  Each prints
// what it did, and that is the same in every run.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_
#define ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_

namespace crossing {

// The arguments behind the row's name.  Each returns the host's exit status.
using Arguments = char**;

int Fork(Arguments);
int Unload(Arguments);  // the paths of two plugins
int KeyDestructors(Arguments);
int ThreadExit(Arguments);
int AsynchronousCancel(Arguments);
int LastThread(Arguments);  // main ends by pthread_exit, and another thread by exit
int Signals(Arguments);
int Seccomp(Arguments);  // "open" refuses openat too
int LimitLater(Arguments);
int LimitBefore(Arguments);  // the limit was set by who started the host
int Exec(Arguments);         // the host's own path, and how often it shall exec still

// Two dozen threads that were cancelled (cancelled.h).
int Cancelled(Arguments);  // malloc, free, calloc, realloc or new
int CancelledUntilSaved(Arguments);
int CancelledUntilTold(Arguments);
int CancelledEnd(Arguments);  // exit, quick_exit or _exit

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_

// The rows of the table: actions of a host at which profilers are known to fail.  Each prints its
// results, which are the same in every run.
#ifndef ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_
#define ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_

namespace crossing {

// The arguments after the row's name.  Each row returns the host's exit status.
using Arguments = char**;

int Fork(Arguments);
int Unload(Arguments);  // the paths of two plugins
int KeyDestructors(Arguments);
int ThreadExit(Arguments);
int AsynchronousCancel(Arguments);
int LastThread(Arguments);  // main ends by pthread_exit, and another thread calls exit
int Signals(Arguments);
int Seccomp(Arguments);  // "open" refuses openat too
int LimitLater(Arguments);
int LimitBefore(Arguments);  // the parent that started the host has set the limit
int Exec(Arguments);         // the host's own path, and the remaining number of execs

// Two dozen cancelled threads (cancelled.h).
int Cancelled(Arguments);  // malloc, free, calloc, realloc or new
int CancelledUntilSaved(Arguments);
int CancelledUntilTold(Arguments);
int CancelledEnd(Arguments);  // exit, quick_exit or _exit

}  // namespace crossing

#endif  // ALLOMON_TESTS_STRESS_CROSSING_ROWS_H_

// The signals of `allomon run` while its program runs: it takes them one at a time instead of being
// ended by them.
#ifndef ALLOMON_TOOLS_RUN_SIGNALS_H_
#define ALLOMON_TOOLS_RUN_SIGNALS_H_

#include <signal.h>

namespace allomon::run {

// Blocks what is passed on or waited for (SIGIO is the notification relay's), and SIGPIPE and
// SIGXFSZ, whose causes are then errors of write().  The destructor restores what was.  One at a
// time; for a process of one thread.
class Signals {
 public:
  Signals();
  ~Signals() { Restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // For a child, before it executes its program: it gets what this process was started with.
  void Restore() const;

  // Waits for the next signal, at most so long; negative: for ever.  Its number, or 0 when the time
  // is over.
  int Wait(int milliseconds, siginfo_t* info) const;

 private:
  sigset_t taken_;
  sigset_t blocked_before_;
  struct sigaction child_before_;
};

// Whether the signal is for the program, and reaches it only if it is passed on.  What the terminal
// sends goes to all processes in the foreground by itself.
bool IsToBePassedOn(int signal, const siginfo_t& info);

// Whether it asks this process to end.
bool IsRequestToEnd(int signal);

// Stops this process as its stopped child was, until it is continued.  False where nobody could
// continue it, so that it was not stopped.
bool StopLike(int signal);

// Ends this process by the signal, without a core file.  Returns if the signal ends no process.
void DieBy(int signal);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_SIGNALS_H_

// The signals of `allomon run` while its program runs: it receives them one at a time instead of
// being ended by them.
#ifndef ALLOMON_TOOLS_RUN_SIGNALS_H_
#define ALLOMON_TOOLS_RUN_SIGNALS_H_

#include <signal.h>

namespace allomon::run {

// Blocks the signals that are passed on or waited for (SIGIO belongs to the notification relay).
// Also blocks SIGPIPE and SIGXFSZ, whose causes then appear as errors of write().  The destructor
// restores the earlier state.  Only one object may exist at a time, in a process of one thread.
class Signals {
 public:
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // Gives a child the signals that this process was started with, before it executes its program.
  void Restore() const;

  // Waits for the next signal, at most `milliseconds`; without limit if that is negative.  Returns
  // its number, or 0 when the time is over.
  int Wait(int milliseconds, siginfo_t* info) const;

 private:
  sigset_t taken_;
  sigset_t blocked_before_;
  struct sigaction child_before_;
};

// True if the signal is for the program, and reaches it only if it is passed on.  A terminal sends
// its signals to all processes in the foreground itself.
bool IsToBePassedOn(int signal, const siginfo_t& info);

// True if the signal asks this process to end.
bool IsRequestToEnd(int signal);

// Stops this process by the signal that stopped the child, until it is continued.  False if no
// process would continue it: then it does not stop.
bool StopLike(int signal);

// Ends this process by the signal, without a core file.  Returns if the signal ends no process.
void DieBy(int signal);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_SIGNALS_H_

// Finds memory errors in production, as GWP-ASan does.  Some of the sampled blocks get a page of
// their own between two inaccessible pages, and the page becomes inaccessible when the block is
// freed.  A program that misuses such a block dies with a report that names the block's allocation,
// its end, and the facts that the trackers know about the block.  A program without such an error
// runs as it does without the guard.
//
//   allomon::GuardOptions options;
//   options.one_in = 100;
//   options.rate = 1e-4;
//   const char* error = nullptr;
//   if (!allomon::StartGuard(options, &error)) fprintf(stderr, "%s\n", error);
//
// From the environment, with liballomon.so or //allocator:auto_profile: ALLOMON_GUARD=1/100.
//
// Reported, on standard error, in a text that begins with "allomon: " and the error's name:
//
//   heap-use-after-free      a read or write of a freed block, until its page is used again
//   heap-buffer-overflow     beyond the block: at once if it is placed at the page's end, else,
//   heap-buffer-underflow    or in the bytes that its alignment leaves, when it is freed and
//                            was written there
//   double-free              free, realloc or delete of a freed block
//   invalid-free             of a pointer that is not the start of a block
//   mismatched-free          of operator new[]'s block by free or delete, of malloc's or operator
//                            new's by delete[]; not of operator new's by free, nor of malloc's by
//                            delete, which libraries with a C++ runtime of their own do
//   wrong-size-delete        sized operator delete with another size than operator new's
//
// A bad access raises SIGSEGV as any wild pointer does.  The guard's handler writes the report and
// then passes the signal to the handler that was installed before, or to the system: the program
// ends, dumps core and is waited for as without the guard.  An error that free finds calls abort().
//
// Signals: StartGuard() installs handlers of SIGSEGV and SIGBUS.  Faults outside guarded pages go
// to the handlers that were installed before, in their signal mask, with their flags.  A host that
// installs its own handlers afterwards sees all faults first.  Such a host has a report if its
// handler calls the handler that it has replaced, or ReportGuardedFault().
//
// Blocks larger than a page are not guarded.  Costs: see "The guard" in allocator/README.md.
#ifndef ALLOMON_ALLOCATOR_GUARD_H_
#define ALLOMON_ALLOCATOR_GUARD_H_

#include <signal.h>

#include <cstdint>
#include <optional>

namespace allomon {

struct GuardOptions {
  // On average one of `one_in` sampled blocks is guarded; at least 1.
  uint32_t one_in = 100;

  // The rate at which the guard samples by itself: samples per word, in [0, 1].  These samples add
  // to those of trackers and profiles.  With 0, the default, only the samples of trackers and
  // profiles are guarded.
  double rate = 0;

  // Fixes which samples are guarded and where in the pool each one lies, but not the pool's
  // address.  Default: unpredictable.
  std::optional<uint64_t> seed;

  // Whether an error that a free has found is only reported (a second free is ignored).  For
  // programs that are known to mix, for example, new and free.  Faults remain fatal.
  bool goes_on = false;
};

// Starts to guard.  Fails on bad options, when the guard is on, and when there is no address space
// for the pool, which takes 0.6 MiB at least and an eighth of `ulimit -v` at most.  On failure
// *error is one line that is valid for ever.  Thread safe; not inside callbacks, nor in signal
// handlers.
[[nodiscard]] bool StartGuard(const GuardOptions& options, const char** error);

// Guards no further blocks.  Guarded blocks stay guarded, and the handlers stay installed.
void StopGuard();

struct GuardStatistics {
  uint64_t guarded_blocks = 0;  // until now
  uint64_t live_blocks = 0;     // now
  uint64_t too_large = 0;       // chosen, and larger than a page
  uint64_t no_room = 0;         // chosen but not guarded: 1,024 blocks were live, or the kernel
                                // refused
  uint64_t errors = 0;          // reported
};
GuardStatistics ReadGuardStatistics();

// Reports the fault if its address is in a guarded page, and returns whether it is.  For a host's
// handler of SIGSEGV or SIGBUS that does not call the handler it has replaced.  Async-signal-safe.
bool ReportGuardedFault(const siginfo_t& info, void* context);

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_GUARD_H_

// Finds memory errors in production, as GWP-ASan does: some of the sampled blocks get a page
// of their own between two inaccessible pages, and the page becomes inaccessible when they are
// freed.  A program that misuses one of them dies with a report that names the block's
// allocation, its end and what the trackers say of it; one that does not runs as ever.
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
//   invalid-free             of a pointer that is not where a block begins
//   mismatched-free          of operator new's block by free, of malloc's by delete[], ...
//   wrong-size-delete        sized operator delete with another size than operator new's
//
// An access raises SIGSEGV as any wild pointer does: the report is written by our handler,
// which then leaves the signal to the handler that was there before, or to the system, so the
// program ends, dumps core and is waited for as without us.  What free finds ends in abort().
//
// Signals: StartGuard installs handlers of SIGSEGV and SIGBUS.  Faults that are not in a
// guarded page go to the handlers that were there before, in their signal mask, with their
// flags.  A host that installs its own afterwards sees all faults first, and has a report if
// it calls the handler that it has replaced, or ReportGuardedFault().
//
// Blocks larger than a page are not guarded.  Costs: see "The guard" in allocator/README.md.
#ifndef ALLOMON_ALLOCATOR_GUARD_H_
#define ALLOMON_ALLOCATOR_GUARD_H_

#include <signal.h>

#include <cstdint>
#include <optional>

namespace allomon {

struct GuardOptions {
  // One of `one_in` sampled blocks is guarded, on average; at least 1.
  uint32_t one_in = 100;

  // Samples per word for the guard by itself, in [0, 1], beside whatever trackers and profiles
  // sample; with 0, the default, only their samples are guarded.
  double rate = 0;

  // Fixes which samples are guarded and where in the pool, but not the pool's address.
  // Default: unpredictable.
  std::optional<uint64_t> seed;

  // After an error that a free has found: report it and go on (a second free is ignored), for
  // programs that are known to mix, for example, new and free.  Faults are fatal all the same.
  bool goes_on = false;
};

// Begins to guard.  Fails, with one line in *error that lives for ever, on bad options, when
// the guard is on, and when there is no address space for its pool: 0.6 MiB at least, an eighth
// of `ulimit -v` at most.
// Thread safe; not inside callbacks, nor in signal handlers.
[[nodiscard]] bool StartGuard(const GuardOptions& options, const char** error);

// Guards no further blocks.  Blocks that are guarded already stay so, and the handlers installed.
void StopGuard();

struct GuardStatistics {
  uint64_t guarded_blocks = 0;  // so far
  uint64_t live_blocks = 0;     // now
  uint64_t too_large = 0;       // chosen, and larger than a page
  uint64_t no_room = 0;         // chosen, and 1,024 blocks were live, or the kernel refused
  uint64_t errors = 0;          // reported
};
GuardStatistics ReadGuardStatistics();

// For a host's own handler of SIGSEGV or SIGBUS that does not call the one it has replaced:
// reports the fault if it is in a guarded page, and says whether it is.  Async-signal-safe.
bool ReportGuardedFault(const siginfo_t& info, void* context);

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_GUARD_H_

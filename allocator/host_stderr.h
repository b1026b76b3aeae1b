// Standard error of a host that is not ours: what we have to say goes there, if it is still
// there, and never harms the host.
//
// Async-signal-safe.
#ifndef ALLOMON_ALLOCATOR_HOST_STDERR_H_
#define ALLOMON_ALLOCATOR_HOST_STDERR_H_

#include <signal.h>

#include <cstddef>

namespace allomon::internal {

// Takes note of what standard error is: a host may close it, and the next file that it opens
// takes the number; a message there would damage the host's data.  The first call counts, and
// must return before anybody writes; one call at a time.
void RememberStderr();

// Writes to standard error, if it is what it was, or the log of a host that has become a
// daemon: a file opened for appending, or whatever standard output is, too.
void WriteToStderr(const char* text, size_t bytes);

// While one exists, writing into a pipe without reader or beyond the limit of a file's
// size is an error for this thread, not the end of the host.
class NoSignalsFromWriting {
 public:
  NoSignalsFromWriting();
  ~NoSignalsFromWriting();
  NoSignalsFromWriting(const NoSignalsFromWriting&) = delete;
  NoSignalsFromWriting& operator=(const NoSignalsFromWriting&) = delete;

 private:
  sigset_t raised_;
  sigset_t outer_;
};

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_HOST_STDERR_H_

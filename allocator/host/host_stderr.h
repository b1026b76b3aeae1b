// Standard error of the host.  Messages are written there if it is still open, and never harm the
// host.
//
// Async-signal-safe.
#ifndef ALLOMON_ALLOCATOR_HOST_HOST_STDERR_H_
#define ALLOMON_ALLOCATOR_HOST_HOST_STDERR_H_

#include <signal.h>

#include <cstddef>

namespace allomon::internal {

// Remembers which file standard error is.  A host may close standard error, and the next file that
// it opens gets the same number: a message would damage the host's data.  Only the first call has
// an effect.  It must return before the first WriteToStderr(); one call at a time.
void RememberStderr();

// Writes to standard error if its file is the one that was remembered, or the log of a host that
// has become a daemon: a file opened for appending, or the file that is standard output, too.
void WriteToStderr(const char* text, size_t bytes);
// Whether messages on standard error may be read: it is neither /dev/null nor another file than the
// one remembered.
bool StderrIsRead();

// Makes a write into a pipe without reader, or past the limit of a file's size, an error for this
// thread instead of the end of the host, while an object exists.
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

#endif  // ALLOMON_ALLOCATOR_HOST_HOST_STDERR_H_

// Messages of the library to the user of its host: one line on standard error at a time.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_

#include <string>
#include <string_view>

namespace allomon::internal {

// Prints "allomon: ", the message with its line ends replaced, and a line end.
void Say(const std::string& message);

// ---- Reports a lost profile even if standard error is not read.
//
// Async-signal-safe, no malloc, any thread; errors are silent, since there is no way left to report
// them.

// Prints one line on standard error, prefixed with "allomon: ".  If standard error is closed,
// replaced or /dev/null, leaves a note that `allomon list` shows (loss_note.h).
void SayLoss(std::string_view why);

// Called once, before the process changes its root directory: makes the note's file, empty, since
// no path will lead to it later.
void PrepareLossNote();

}  // namespace allomon::internal

namespace allomon {

// ---- Explains in words why a profile of bytes covers little of a program's memory.

struct SeenMemory {
  double bytes = 0;     // in the profile
  bool live = false;    // those that are live now, not all that were allocated
  double rate = 0;      // samples per word
  bool mapped = false;  // mappings that the program made itself were counted, too (ALLOMON_MMAP=1)
};

// Returns one line, or an empty string if there is nothing to explain.  Explains a profile without
// samples, or with less than a quarter of the process's resident anonymous memory (at its maximum,
// if the bytes are all that were allocated), provided that this memory is 32 MiB or more.  Reads
// /proc/self/status; allocates.
std::string WhySoLittle(const SeenMemory& seen);

// Whether the program is a Go program that uses C.  Go's runtime makes system calls directly to end
// a program and to catch signals, so no profile can be written.  Any thread; allocates nothing.
bool IsOfGo();

}  // namespace allomon

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_

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

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_

// Reports a lost profile even if standard error is not read.
//
// Async-signal-safe, no malloc, any thread; errors are silent, since there is no way left to report
// them.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_

#include <string_view>

namespace allomon::internal {

// Prints one line on standard error, prefixed with "allomon: ".  If standard error is closed,
// replaced or /dev/null, leaves a note that `allomon list` shows (loss_note.h).
void SayLoss(std::string_view why);

// Called once, before the process changes its root directory: makes the note's file, empty, since
// no path will lead to it later.
void PrepareLossNote();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_

// Leaves word of a profile that was lost where nobody reads standard error.
//
// Async-signal-safe, no malloc, any thread; errors are silent, since nothing is left to tell them.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_

#include <string_view>

namespace allomon::internal {

// One line on standard error, with "allomon: " before it; where that is closed, replaced or
// /dev/null, a note that `allomon list` shows (loss_note.h).
void SayLoss(std::string_view why);

// Before the process changes its root directory: makes the note's file, empty, since no path will
// lead to it.  Once.
void PrepareLossNote();

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_LOSS_H_

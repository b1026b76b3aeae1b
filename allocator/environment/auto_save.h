// ALLOMON_SAVE: the watcher that saves copies of a recording.  Part of liballomon.so and of
// //allocator:auto_profile.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_SAVE_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_SAVE_H_

#include "allocator/environment/environment.h"
#include "tracker/recording/watcher.h"

namespace allomon::internal {

// Returns the watcher, or nullptr if no copies are requested.  Called before main.  The options
// must live as long as the process.
recording::Watcher* WatcherIfWanted(const EnvironmentOptions& options);

// Prints a message if copies are requested and nothing can be recorded.
void CheckSave(const EnvironmentOptions& options);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_SAVE_H_

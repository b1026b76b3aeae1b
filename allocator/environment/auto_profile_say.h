// Messages of the library to the user of its host: one line on standard error at a time.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_

#include <string>

namespace allomon::internal {

// Prints "allomon: ", the message with its line ends replaced, and a line end.
void Say(const std::string& message);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_SAY_H_

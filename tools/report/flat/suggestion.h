// Gives advice about a profile that tells little.
#ifndef ALLOMON_TOOLS_REPORT_FLAT_SUGGESTION_H_
#define ALLOMON_TOOLS_REPORT_FLAT_SUGGESTION_H_

#include <string>

#include "tools/mlmon/inputs.h"

namespace allomon::report {

// Returns a line about a function that takes 60 % of the bytes or more, and was called for them
// from many places: it may be an unknown wrapper.  Empty if the profile has no such function.
std::string SuggestWrapper(const Profile& profile);

}  // namespace allomon::report

#endif  // ALLOMON_TOOLS_REPORT_FLAT_SUGGESTION_H_

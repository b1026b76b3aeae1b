// Writing a unit of data, without Abseil: shared by the library and the preloaded one.
#ifndef ALLOMON_TRACKER_PROFILE_PROFILE_FILE_H_
#define ALLOMON_TRACKER_PROFILE_PROFILE_FILE_H_

#include <cstdint>
#include <string>

#include "tracker/profile/profile_data.h"

namespace allomon {

// Writes `path`, and `path`.sources if the program cannot answer for its own functions.
// On failure returns false, and *error is one line with the file, cause and remedy.
bool WriteProfileFile(const std::string& path, const ProfileData& data, std::string* error);

// One line: estimated bytes with their 95 % interval, and what is needed to repeat the run.
std::string ProfileSummary(const ProfileData& data, double rate, uint64_t seed);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_PROFILE_FILE_H_

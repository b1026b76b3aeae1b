// Writing a unit of data, without Abseil: shared by the library and the preloaded one.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tracker/profile/record/data_units.h"

namespace allomon {

// Writes `path`, and `path`.sources if the program cannot answer for its own functions.  kFreed:
// nothing was written.  Otherwise *error is empty, or one line with the file, cause and remedy.
// *summary, if not null, is ProfileSummary() of what was written: what is live has changed by the
// next call.  `format` is one of formats/output_formats.inc.
internal::UnitError WriteProfileFile(const std::string& path, internal::UnitName unit,
                                     std::string* error, std::string* summary = nullptr,
                                     std::string_view format = "mlmon");

// One line: what was used, for an estimate with its 95 % interval and what is needed to repeat the
// run; empty for a freed unit.
std::string ProfileSummary(internal::UnitName unit);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_

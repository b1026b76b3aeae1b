// Writes a unit of data, without Abseil: shared by the library and the preloaded library.
#ifndef ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_
#define ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "tracker/profile/control/write_rule.h"
#include "tracker/profile/record/data_units.h"

namespace allomon {

// Writes `path`, and `path`.sources if the program cannot answer for its own functions.  kFreed:
// nothing was written.  Otherwise *error is empty, or one line with the file, cause and remedy.
// *summary, if not null, is the ProfileSummary() of the written profile; a later call of
// ProfileSummary() may find other live blocks.  `format` is one of formats/output_formats.inc.
//
// *missing_names, if not null, is a line with the reason why functions have no names, or empty.
//
// If `rule` forbids it, nothing is written and no symbol table is read: *against is then the
// reason, and empty otherwise.
internal::UnitError WriteProfileFile(const std::string& path, internal::UnitName unit,
                                     std::string* error, std::string* summary = nullptr,
                                     std::string_view format = "mlmon", WriteRule* rule = nullptr,
                                     std::string* against = nullptr,
                                     std::string* missing_names = nullptr);

// One line: the total that was used.  For an estimate, the line also has the 95 % interval and the
// settings that are needed to repeat the run.  Empty for a freed unit.
std::string ProfileSummary(internal::UnitName unit);

// Returns the path of the executable, also if the dynamic linker was started with it as an
// argument; empty if it is not known.
std::string PathOfProgram();

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_CONTROL_PROFILE_FILE_H_

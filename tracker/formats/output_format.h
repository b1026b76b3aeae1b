// The formats in which a profile can be written.  To add one, add a file next to mlmon_files.cc
// that defines its function, and a line in output_formats.inc (tests/toy_format_test.py adds one).
//
// Pure functions: any thread, nothing thrown; they allocate with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_
#define ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/named_profile.h"

namespace allomon {

// One file of a format.
struct OutputFile {
  std::string suffix;  // appended to the user's path; empty for the profile itself
  std::string bytes;
  int mode = 0600;  // for its owner only: names of functions may be secret
};

// The files in the order in which they are made.  Files that explain a profile come before the
// profile, so it is never newer than its explanation.
using OutputFiles = std::vector<OutputFile>;
using OutputFormat = OutputFiles (*)(const NamedProfile& profile);

// Returns nullptr if there is no format of that name.
OutputFormat FindOutputFormat(std::string_view name);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_

// The formats that a profile can be written in.  A new one is a file beside mlmon_files.cc, which
// defines its function, and a line in output_formats.inc (tests/toy_format_test.py adds one).
//
// Pure functions: any thread, nothing thrown, allocating with operator new.
#ifndef ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_
#define ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_

#include <string>
#include <string_view>
#include <vector>

#include "tracker/formats/named_profile.h"

namespace allomon {

// One file of a format.
struct OutputFile {
  std::string suffix;  // behind the path that the user gave; empty for the profile itself
  std::string bytes;
  int mode = 0600;  // for its owner only: names of functions may be secret
};

// In the order in which they are to appear: what explains a profile comes before the profile, which
// is therefore never newer than its explanation.
using OutputFiles = std::vector<OutputFile>;
using OutputFormat = OutputFiles (*)(const NamedProfile& profile);

// nullptr if there is none of that name.
OutputFormat FindOutputFormat(std::string_view name);

}  // namespace allomon

#endif  // ALLOMON_TRACKER_FORMATS_OUTPUT_FORMAT_H_

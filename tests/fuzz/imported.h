// Properties of every accepted file of another profiler.
#ifndef ALLOMON_TESTS_FUZZ_IMPORTED_H_
#define ALLOMON_TESTS_FUZZ_IMPORTED_H_

#include "tests/fuzz/amounts.h"
#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/export/metric_names.h"
#include "tools/load/import.h"

namespace allomon::fuzz {

inline std::string ExportOfOdd(const std::string& format) {
  return interchange::testing::Export(format, interchange::testing::OddProfile(),
                                      heap::Metric::kLive);
}
inline std::string ExportOfLarge(const std::string& format) {
  return interchange::testing::Export(format, interchange::testing::LargeProfile(5),
                                      heap::Metric::kLive);
}

// Writes the profile in one of the formats.  The input chooses it, so that a finding is
// reproducible.
inline void CheckExport(const heap::HeapProfile& profile, std::string_view input) {
  Require(interchange::testing::IsConsistent(profile), "a profile is consistent");
  const auto metric = interchange::DefaultMetric(profile);
  if (!metric) return;
  const auto& formats = interchange::ExportFormats();
  const auto files = interchange::Export(formats[input.size() % formats.size()], profile, *metric);
  if (!files.ok()) RequireOneLine(files.status().message());
}

inline bool CheckImported(const interchange::Imported& profile, std::string_view text) {
  if (!profile.ok()) {
    RequireOneLine(profile.status().message());
    return false;
  }
  RequireWhole(*profile);
  CheckExport(*profile, text);
  return true;
}

}  // namespace allomon::fuzz

#endif  // ALLOMON_TESTS_FUZZ_IMPORTED_H_

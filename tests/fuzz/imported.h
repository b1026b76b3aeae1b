// Properties of every heap profile that a reader accepts, and of files of other profilers.
#ifndef ALLOMON_TESTS_FUZZ_IMPORTED_H_
#define ALLOMON_TESTS_FUZZ_IMPORTED_H_

#include <cmath>

#include "tests/fuzz/target.h"
#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/import.h"

namespace allomon::fuzz {

inline void RequireWhole(double blocks, double bytes) {
  Require(std::isfinite(blocks) && blocks >= 0, "blocks are a number");
  Require(std::isfinite(bytes) && bytes >= 0, "bytes are a number");
}

inline void RequireWhole(const std::vector<heap::AgeCell>& cells) {
  for (const heap::AgeCell& cell : cells) {
    Require(cell.log2_bytes <= 63 || cell.log2_bytes == heap::kUnknownLog2, "sizes have 64 bits");
    Require(cell.log2_nanos <= 63, "ages have 64 bits");
    RequireWhole(cell.amount.blocks, cell.amount.bytes);
  }
}

// Requires that each number refers to something, and each amount is valid.
inline void RequireWhole(const heap::HeapProfile& profile) {
  Require(profile.rate >= 0 && profile.rate <= 1, "a rate is in [0, 1]");
  for (const heap::Sample& sample : profile.samples) {
    for (const uint32_t location : sample.stack) {
      Require(location < profile.locations.size(), "frames are locations");
    }
    Require(sample.thread == heap::kNone || sample.thread < profile.threads.size(),
            "a sample's thread is one");
    for (const heap::Amount& amount : sample.amounts) RequireWhole(amount.blocks, amount.bytes);
    RequireWhole(sample.deaths);
    RequireWhole(sample.ages);
  }
  for (const heap::Location& location : profile.locations) {
    Require(location.mapping == heap::kNone || location.mapping < profile.mappings.size(),
            "a location's mapping is one");
    for (const heap::Line& line : location.lines) {
      Require(line.function < profile.functions.size(), "a line's function is one");
    }
  }
}

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

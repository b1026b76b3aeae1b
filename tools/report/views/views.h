// Profiles with call stacks, from files to the output of a command.  README.md is the manual.
#ifndef ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_
#define ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/heap/heap_profile.h"
#include "tools/report/table/options.h"
#include "tools/text/terminal.h"

namespace allomon::views {

// The view that the options choose of the sum of their files.  Fails with one line.
absl::StatusOr<std::string> ShowSum(const Options& options, const report::Terminal& terminal);

// A profile that the caller has read.
absl::StatusOr<std::string> ShowProfile(const heap::HeapProfile& profile, const Options& options,
                                        const report::Terminal& terminal);

struct ShownDifference {
  std::string text;
  bool grew = false;         // whether a row certainly did
  bool is_testable = false;  // whether that can be told
};

// The difference of the two files of the options.
absl::StatusOr<ShownDifference> ShowDifference(const Options& options,
                                               const report::Terminal& terminal);

}  // namespace allomon::views

#endif  // ALLOMON_TOOLS_REPORT_VIEWS_VIEWS_H_

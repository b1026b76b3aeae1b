#ifndef ALLOMON_TESTS_REPORT_REPORT_CASE_H_
#define ALLOMON_TESTS_REPORT_REPORT_CASE_H_

#include <string>
#include <vector>

#include "tests/tools/fake_program.h"
#include "tools/report/report.h"

namespace allomon::report {

struct NamedCount {
  SourceName name;
  MlmonCount count;
};

// Runs in a new directory, which holds the executable `prog` and its `mlmon.out`, a profile of
// bytes with stack data: 90, and 10 by the collector.  A.f has 10, A.g 30, <main> 50.
class ReportCase : public testing::FakeProgramTest {
 protected:
  // Sends output to a pipe, or to a terminal with that many columns and 50 lines.
  static Terminal Pipe();
  static Terminal Screen(int columns);

  static CommandResult Run(const std::vector<std::string>& args, const Terminal& to = Pipe());

  // Returns the output of a run that must succeed and print nothing on standard error.
  static std::string Out(const std::vector<std::string>& args, const Terminal& to = Pipe());

  // Returns the error line of a run that must fail with status 2 and print nothing else.
  static std::string Error(const std::vector<std::string>& args);

  // Writes the profile `file`, and `file`.sources with these functions.  Their sum is the total.
  // The style is stack if any of them has stack data.
  static void WriteProfile(const std::string& file, ProfileKind kind,
                           const std::vector<NamedCount>& functions, StubOf what = StubOf::kAll);
};

// Return the number of lines, and the columns of the widest line.
size_t LinesOf(const std::string& text);
int WidestLine(const std::string& text);

}  // namespace allomon::report

#endif  // ALLOMON_TESTS_REPORT_REPORT_CASE_H_

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

// In a new directory, which holds the executable `prog` and its `mlmon.out`: bytes with stack
// data, 90 and 10 by the collector; A.f 10, A.g 30, <main> 50.
class ReportCase : public testing::FakeProgramTest {
 protected:
  // A pipe, or a terminal of these columns and 50 lines.
  static Terminal Pipe();
  static Terminal Screen(int columns);

  static CommandResult Run(const std::vector<std::string>& args, const Terminal& to = Pipe());

  // The output of a run that must succeed, in silence.
  static std::string Out(const std::vector<std::string>& args, const Terminal& to = Pipe());

  // The line of a run that must fail with status 2 and show nothing.
  static std::string Error(const std::vector<std::string>& args);

  // Writes the profile `file` and `file`.sources with these functions, and what they used
  // as totals.  Of style stack if any of them has stack data.
  static void WriteProfile(const std::string& file, ProfileKind kind,
                           const std::vector<NamedCount>& functions, StubOf what = StubOf::kAll);
};

// How many lines; the widest of them in columns.
size_t LinesOf(const std::string& text);
int WidestLine(const std::string& text);

}  // namespace allomon::report

#endif  // ALLOMON_TESTS_REPORT_REPORT_CASE_H_

#include "tests/report/report_case.h"

#include <algorithm>
#include <sstream>

#include "tools/text/plain_text.h"

namespace allomon::report {

Terminal ReportCase::Pipe() { return Terminal(); }

Terminal ReportCase::Screen(int columns) {
  Terminal screen;
  screen.is_terminal = screen.color_wanted = true;
  screen.columns = columns;
  screen.lines = 50;
  return screen;
}

CommandResult ReportCase::Run(const std::vector<std::string>& args, const Terminal& to) {
  return RunReport(args, to);
}

std::string ReportCase::Out(const std::vector<std::string>& args, const Terminal& to) {
  const CommandResult result = Run(args, to);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  return result.out;
}

std::string ReportCase::Error(const std::vector<std::string>& args) {
  const CommandResult result = Run(args, Pipe());
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(LinesOf(result.err), 1u) << result.err;
  EXPECT_EQ(result.err.rfind("allomon report: ", 0), 0u) << result.err;
  return result.err;
}

void ReportCase::WriteProfile(const std::string& file, ProfileKind kind,
                              const std::vector<NamedCount>& functions, StubOf what) {
  SourceTable table = FixedSourceTable();
  Mlmon profile;
  profile.kind = kind;
  profile.masters.resize(table.names.size());
  for (const NamedCount& function : functions) {
    table.sources.push_back({static_cast<uint32_t>(table.names.size()), kNoSuccessors});
    table.names.push_back(function.name);
    profile.masters.push_back(function.count);
    profile.total += function.count.current;
    if (function.count.stack != 0) profile.style = ProfileStyle::kStack;
  }
  profile.splits = profile.masters;
  profile.magic = table.magic = ContentMagic(table);
  Write(file, FormatMlmon(profile));
  Write(file + ".sources", FormatSourcesStub(table, what), 0755);
}

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

int WidestLine(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, Columns(line));
  return widest;
}

}  // namespace allomon::report

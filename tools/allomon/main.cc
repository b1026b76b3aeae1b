// The command `allomon`: a table of its commands.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/allomon/help_command.h"
#include "tools/control/control.h"
#include "tools/explain/explain.h"
#include "tools/export/export_command.h"
#include "tools/flame/flame.h"
#include "tools/gate/gate.h"
#include "tools/leaks/leaks.h"
#include "tools/options/command_result.h"
#include "tools/options/documents.h"
#include "tools/report/report.h"
#include "tools/run/run.h"
#include "tools/serve/serve.h"
#include "tools/snapshot/heap_command.h"
#include "tools/text/terminal.h"

namespace {

using Arguments = std::vector<std::string>;

struct Command {
  const allomon::options::CommandText& (*text)();
  allomon::CommandResult (*run)(const Arguments& args);
};

allomon::CommandResult RunReport(const Arguments& args) {
  return allomon::report::RunReport(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunDiff(const Arguments& args) {
  return allomon::report::RunDiff(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunExport(const Arguments& args) {
  return allomon::interchange::RunExport(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunExplain(const Arguments& args) {
  return allomon::explain::RunExplain(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunLeaks(const Arguments& args) {
  return allomon::leaks::RunLeaks(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunHeap(const Arguments& args) {
  return allomon::snapshot::RunHeap(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunHelp(const Arguments& args);

constexpr Command kCommands[] = {
    {allomon::run::RunText, allomon::run::RunRun},
    {allomon::report::ReportText, RunReport},
    {allomon::report::DiffText, RunDiff},
    {allomon::flame::FlameText, allomon::flame::RunFlame},
    {allomon::interchange::ExportText, RunExport},
    {allomon::control::ListText, allomon::control::RunList},
    {allomon::control::CtlText, allomon::control::RunCtl},
    {allomon::control::TopText, allomon::control::RunTop},
    {allomon::control::SaveText, allomon::control::RunSave},
    {allomon::explain::ExplainText, RunExplain},
    {allomon::leaks::LeaksText, RunLeaks},
    {allomon::serve::ServeText, allomon::serve::RunServe},
    {allomon::snapshot::HeapText, RunHeap},
    {allomon::gate::GateText, allomon::gate::RunGate},
    {allomon::HelpText, RunHelp},
};

allomon::options::ProgramText Program() {
  allomon::options::ProgramText program = {
      "allomon",
      "sample the allocations of programs, and show them",
      {"Allomon samples the allocations of a program, without recompiling it, and shows which "
       "functions they come from: as tables, flame graphs, pprof files or MLton's profiles.  "
       "allomon run records a program; allomon report, diff and flame show what it wrote."},
      {}};
  for (const Command& command : kCommands) program.commands.push_back(&command.text());
  return program;
}

allomon::CommandResult RunHelp(const Arguments& args) { return allomon::RunHelp(args, Program()); }

allomon::CommandResult Run(const Arguments& args) {
  const auto program = Program();
  if (args.empty()) return {2, "", allomon::Usage(program)};
  if (args[0] == "--version") return {0, allomon::options::VersionLine(), ""};
  if (args[0] == "--help" || args[0] == "-h") return {0, allomon::Usage(program), ""};
  for (const Command& command : kCommands) {
    if (args[0] == command.text().name) return command.run({args.begin() + 1, args.end()});
  }
  return allomon::UnknownCommand(args[0], program);
}

// Fails if output did not reach its file, which must not look like success.
bool Print(const std::string& text) {
  return fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const allomon::CommandResult result = Run(Arguments(argv + (argc > 0), argv + argc));
  fputs(result.err.c_str(), stderr);
  if (Print(result.out)) return result.status;
  perror("allomon: cannot write standard output");
  return 2;
}

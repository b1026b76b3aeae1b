// The command `allomon`: a table of its commands.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "tools/control/control.h"
#include "tools/export/export_command.h"
#include "tools/flame/flame.h"
#include "tools/gate/gate.h"
#include "tools/options/command_result.h"
#include "tools/report/report.h"
#include "tools/run/run.h"
#include "tools/serve/serve.h"
#include "tools/snapshot/heap_command.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"
#include "tracker/formats/version.h"

namespace {

struct Command {
  const char* name;
  const char* summary;
  allomon::CommandResult (*run)(const std::vector<std::string>& args);
  bool has_program = false;  // takes another program's command line, with its --version
};

allomon::CommandResult RunReport(const std::vector<std::string>& args) {
  return allomon::report::RunReport(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunDiff(const std::vector<std::string>& args) {
  return allomon::report::RunDiff(args, allomon::report::ThisTerminal());
}

allomon::CommandResult RunExport(const std::vector<std::string>& args) {
  return allomon::interchange::RunExport(args, allomon::report::ThisTerminal().charset);
}

allomon::CommandResult RunHeap(const std::vector<std::string>& args) {
  return allomon::snapshot::RunHeap(args, allomon::report::ThisTerminal());
}

constexpr Command kCommands[] = {
    {"run", "record what a program and its children allocate", allomon::run::RunRun, true},
    {"report", "show what functions allocated, how long they ran, how often", RunReport},
    {"diff", "show which functions changed from one profile to another", RunDiff},
    {"flame", "write an interactive flame graph as an HTML file", allomon::flame::RunFlame},
    {"export", "write a heap profile in another format", RunExport},
    {"list", "show the processes that can be asked to record", allomon::control::RunList},
    {"ctl", "ask a process that runs to begin or to end a recording", allomon::control::RunCtl},
    {"top", "show what a process that runs has live, again and again", allomon::control::RunTop},
    {"save", "write what a process that runs has recorded", allomon::control::RunSave},
    {"serve", "serve heaps to go tool pprof, Prometheus and browsers", allomon::serve::RunServe},
    {"heap", "show a heap snapshot: types, retained sizes, who keeps whom alive", RunHeap},
    {"gate", "fail when benchmarks allocate more than a baseline", allomon::gate::RunGate},
};

using Arguments = std::vector<std::string>;

std::string Usage() {
  std::string usage = "usage: allomon COMMAND ...      (allomon COMMAND --help)\n";
  for (const Command& command : kCommands) {
    std::string name = command.name;
    name.resize(8, ' ');
    usage += "  " + name + " " + command.summary + "\n";
  }
  return usage + "  --help, --version; allomon help COMMAND\n";
}

std::string Version() { return std::string("allomon ") + allomon::kVersion + "\n"; }

bool IsHelp(const std::string& arg) { return arg == "--help" || arg == "-h" || arg == "help"; }

// True if a command's arguments ask for the version.  After `--` there are only files.
bool AsksForVersion(const Arguments& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, "--version") != end;
}

allomon::CommandResult Unknown(const std::string& arg) {
  const bool is_option = arg[0] == '-';
  return {2, "",
          std::string("allomon: unknown ") + (is_option ? "option " : "command ") +
              allomon::Printable(arg, allomon::report::ThisTerminal().charset) +
              "; allomon --help lists " + (is_option ? "them\n" : "all\n")};
}

allomon::CommandResult Run(Arguments args) {
  if (args.empty()) return {2, "", Usage()};
  if (args[0] == "--version") return {0, Version(), ""};
  if (IsHelp(args[0]) && args.size() == 1) return {0, Usage(), ""};
  if (args[0] == "help") args = {args[1], "--help"};
  for (const Command& command : kCommands) {
    if (args[0] != command.name) continue;
    args.erase(args.begin());
    const bool is_version = !command.has_program && AsksForVersion(args);
    return is_version ? allomon::CommandResult{0, Version(), ""} : command.run(args);
  }
  return IsHelp(args[0]) ? allomon::CommandResult{0, Usage(), ""} : Unknown(args[0]);
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

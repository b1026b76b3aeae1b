// The command `allomon`: a table of its commands.
#include <cstdio>
#include <string>
#include <vector>

#include "tools/command_result.h"
#include "tools/gate/gate.h"
#include "tools/report/report.h"
#include "tools/report/terminal.h"

namespace {

struct Command {
  const char* name;
  const char* summary;
  allomon::CommandResult (*run)(const std::vector<std::string>& args);
};

allomon::CommandResult RunReport(const std::vector<std::string>& args) {
  return allomon::report::RunReport(args, allomon::report::ThisTerminal());
}

constexpr Command kCommands[] = {
    {"report", "show what functions allocated, how long they ran, how often", RunReport},
    {"gate", "fail when benchmarks allocate more than a baseline", allomon::gate::RunGate},
};

int Usage(FILE* out, int status) {
  fputs("usage: allomon COMMAND ...      (allomon COMMAND --help)\n", out);
  for (const Command& command : kCommands) {
    fprintf(out, "  %-8s %s\n", command.name, command.summary);
  }
  return status;
}

// Output that did not reach its file must not look like success.
bool Print(const std::string& text) {
  return fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
}

int Run(const Command& command, const std::vector<std::string>& args) {
  const auto result = command.run(args);
  fputs(result.err.c_str(), stderr);
  if (Print(result.out)) return result.status;
  perror("allomon: cannot write standard output");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0), argv + argc);
  if (args.empty()) return Usage(stderr, 2);
  if (args[0] == "--help" || args[0] == "help" || args[0] == "-h") return Usage(stdout, 0);
  for (const Command& command : kCommands) {
    if (args[0] == command.name) return Run(command, {args.begin() + 1, args.end()});
  }
  fprintf(stderr, "allomon: unknown command %s\n", args[0].c_str());
  return Usage(stderr, 2);
}

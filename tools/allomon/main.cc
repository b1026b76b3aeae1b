// The command `allomon`: a table of its commands.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/control/control.h"
#include "tools/explain/explain.h"
#include "tools/export/export_command.h"
#include "tools/flame/flame.h"
#include "tools/gate/gate.h"
#include "tools/leaks/leaks.h"
#include "tools/options/choices.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"
#include "tools/options/documents.h"
#include "tools/pack/symbols_command.h"
#include "tools/report/report.h"
#include "tools/run/run.h"
#include "tools/serve/serve.h"
#include "tools/snapshot/heap_command.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon {
namespace {

// ---- `allomon help`: texts that are made of the tables of all commands.

using options::Shell;

struct Options : options::Common {
  bool man = false;
  bool names = false;
  std::optional<Shell> shell;
  std::string command;  // empty: all
};

constexpr options::Choice<Shell> kShells[] = {
    {"bash", Shell::kBash}, {"zsh", Shell::kZsh}, {"fish", Shell::kFish}};

absl::Status SetShell(const std::string& value, Options* options) {
  return options::Choose(kShells, "--completion", value, &options->shell.emplace());
}

absl::Status AddWord(const std::string& word, Options* options) {
  if (!options->command.empty()) return options::Bad("one command at a time: \"" + word + "\"");
  options->command = word;
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  const bool is_of_all = options.shell.has_value();
  if (is_of_all && options.man) return options::Bad("--man and --completion: choose one");
  if (options.names && (is_of_all || options.man)) {
    return options::Bad("--names and another option: choose one");
  }
  if ((is_of_all || options.names) && !options.command.empty()) {
    return options::Bad(std::string(is_of_all ? "--completion" : "--names") +
                        " is of all commands: leave out " + options.command);
  }
  return absl::OkStatus();
}

options::CommandText Describe() {
  options::CommandText text;
  text.name = "help";
  text.summary = "explain a command; write man pages and completions of shells";
  text.usages = {"[COMMAND]", "--man [COMMAND]", "--completion=SHELL", "--names"};
  text.description = {"Shows what a command does and which options it takes."};
  text.words = options::Words::kCommand;
  text.statuses = {{"0", "shown"}, {"2", "there is no such command"}};
  text.examples = {
      {"allomon help --man report | man -l -", "the manual page of allomon report"},
      {"source <(allomon help --completion=bash)", "completes options and values in this shell"}};
  return text;
}

const options::Command<Options>& HelpCommand() {
  static const options::Command<Options> command(
      Describe(),
      {{"",
        {{"--man", "the manual page of allomon, or of the command, in troff", &Options::man},
         {"--completion", options::OneOf(kShells), "", "a file that the shell completes with",
          SetShell},
         {"--names", "the names of all commands, one on each line", &Options::names}}}},
      AddWord, Check);
  return command;
}

std::string Safe(const std::string& text) {
  return Printable(text, report::ThisTerminal().charset);
}

std::string NamesOf(const options::ProgramText& program) {
  std::string names;
  for (const options::CommandText* command : program.commands) names += command->name + "\n";
  return names;
}

const options::CommandText& HelpText() { return HelpCommand().Text(); }

// Lists all commands.
std::string Usage(const options::ProgramText& program) {
  std::string usage = "usage: allomon COMMAND ...      (allomon COMMAND --help)\n";
  for (const options::CommandText* command : program.commands) {
    std::string name = command->name;
    name.resize(8, ' ');
    usage += "  " + name + " " + command->summary + "\n";
  }
  return usage + "  --help, --version; allomon help COMMAND\n";
}

// Returns one line, with the command that was probably meant.
CommandResult UnknownCommand(const std::string& name, const options::ProgramText& program) {
  std::vector<std::string> names;
  for (const options::CommandText* command : program.commands) names.push_back(command->name);
  const std::string nearest = options::Nearest(name, names);
  const std::string question = nearest.empty() ? "" : "did you mean " + nearest + "? ";
  const bool is_option = name.compare(0, 1, "-") == 0;
  return {2, "",
          std::string("allomon: unknown ") + (is_option ? "option " : "command ") + Safe(name) +
              "; " + question + "allomon --help lists " + (is_option ? "them\n" : "all\n")};
}

CommandResult RunHelp(const std::vector<std::string>& args, const options::ProgramText& program) {
  const auto options = HelpCommand().Parse(args);
  if (!options.ok()) {
    return {2, "", "allomon help: " + Safe(std::string(options.status().message())) + "\n"};
  }
  const auto answer = options::AnswerTo(*options, HelpText());
  if (answer.has_value()) return *answer;
  if (options->shell.has_value()) return {0, CompletionOf(program, *options->shell), ""};
  if (options->names) return {0, NamesOf(program), ""};
  if (options->command.empty()) return {0, options->man ? ManPageOf(program) : Usage(program), ""};
  const options::CommandText* const command = program.Find(options->command);
  if (command == nullptr) return UnknownCommand(options->command, program);
  return {0, options->man ? ManPageOf(*command, program) : HelpOf(*command), ""};
}

}  // namespace
}  // namespace allomon

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

allomon::CommandResult RunSymbols(const Arguments& args) {
  return allomon::pack::RunSymbols(args, allomon::report::ThisTerminal());
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
    {allomon::pack::SymbolsText, RunSymbols},
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

// A file that a command opens would get the number of a standard stream that is closed, and be
// written to as that stream.  Reading and writing of a stream that is held fail as before, and a
// program that is executed finds it closed.
void HoldClosedStreams() {
  int fd = STDIN_FILENO;
  while (0 <= fd && fd <= STDERR_FILENO) fd = open("/", O_PATH | O_CLOEXEC);
  if (fd >= 0) close(fd);
}

// Fails if output did not reach its file, which must not look like success.
bool Print(const std::string& text) {
  return fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  HoldClosedStreams();
  const allomon::CommandResult result = Run(Arguments(argv + (argc > 0), argv + argc));
  fputs(result.err.c_str(), stderr);
  if (Print(result.out)) return result.status;
  perror("allomon: cannot write standard output");
  return 2;
}

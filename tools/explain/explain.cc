#include "tools/explain/explain.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "tools/explain/account.h"
#include "tools/explain/explanation.h"
#include "tools/explain/json.h"
#include "tools/options/choices.h"
#include "tools/options/command_line.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/text/amounts.h"
#include "tools/text/grid.h"
#include "tools/text/plain_text.h"

namespace allomon::explain {
namespace {

using options::Bad;

enum class Format { kText, kJson };
constexpr options::Choice<Format> kFormats[] = {{"text", Format::kText}, {"json", Format::kJson}};

struct Options : options::Common {
  uint32_t pid = 0;
  std::string file;
  Format format = Format::kText;
  int width = -1;  // -1: the terminal's
};

absl::Status SetFormat(const std::string& value, Options* options) {
  return options::Choose(kFormats, "--format", value, &options->format);
}

absl::Status SetWidth(const std::string& value, Options* options) {
  return options::ParseWidth(value, &options->width);
}

absl::Status AddWord(const std::string& word, Options* options) {
  if (options->pid != 0 || !options->file.empty()) {
    return Bad("one process at a time: \"" + word + "\"");
  }
  if (word.find_first_not_of("0123456789") != std::string::npos) {
    options->file = word;
    return absl::OkStatus();
  }
  return options::ParsePid(word, &options->pid);
}

absl::Status Check(const Options& options) {
  const bool is_named = options.pid != 0 || !options.file.empty();
  return is_named ? absl::OkStatus() : Bad("name a process by its id, or a recording");
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "explain";
  text.summary = "show where the resident memory of a process is";
  text.usages = {"PID [options]", "FILE [options]"};
  text.description = {
      "Divides the resident memory of a process into rows that add up to the kernel's figure: live "
      "and free blocks of its heap, what the allocator and Allomon keep, stacks, code, files and "
      "other mappings.  The process does nothing for it, and runs on.",
      "The heap is divided if the process has Allomon, recording or not; its memory is read for "
      "that, which needs the rights of a debugger (ptrace_scope).",
      "Of a file of a recording, the resident memory at its last samples is divided into live "
      "blocks "
      "and the rest."};
  text.words = options::Words::kProcess;
  text.statuses = {{"0", "shown"},
                   {"1", "shown, and the process changed by more than 1 % meanwhile"},
                   {"2", "bad options, or the process or the file cannot be read"}};
  text.examples = {{"allomon explain 4711", "why process 4711 is as large as it is"},
                   {"allomon explain out.rec", "how much of a process its recording explains"},
                   {"allomon explain 4711 --format=json", "the same for programs"}};
  text.manual = "tools/explain/README.md";
  return text;
}

const options::Command<Options>& ExplainCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--format", options::OneOf(kFormats), "text", "how it is written", SetFormat},
         {"--width", "COLUMNS", "the terminal's", "columns of the text; 0: as wide as needed",
          SetWidth}}}},
      AddWord, Check);
  return command;
}

// --- Text

std::string Bytes(uint64_t bytes) {
  return report::Amount(ProfileKind::kAlloc, static_cast<MlmonInt>(bytes));
}

std::string NameOf(const Row& row) {
  if (row.count == 0) return row.name;
  return row.name + " (" + report::Exact(static_cast<MlmonInt>(row.count)) + ")";
}

constexpr size_t kNamesOfScreen = 12;

std::string ToText(const Explanation& found, int width, Charset charset) {
  const Account& account = found.account;
  const uint64_t whole = account.totals.resident_bytes;
  report::Grid grid;
  grid.columns = {{"resident"}, {"%"}, {"what"}, {"saves up to"}, {"what makes it smaller"}};
  grid.columns[2].kind = grid.columns[4].kind = report::Column::Kind::kText;
  grid.columns[2].least = 24;
  grid.columns[4].drop_rank = 2;
  grid.columns[4].least = 24;
  grid.columns[4].cut = CutToBeginning;
  grid.columns[3].drop_rank = 1;
  for (const Row& row : WithoutSmallNames(account.rows, kNamesOfScreen)) {
    const double percent = 100.0 * static_cast<double>(row.resident_bytes) /
                           static_cast<double>(std::max<uint64_t>(whole, 1));
    grid.rows.push_back({{Bytes(row.resident_bytes)},
                         {report::Percentage(percent)},
                         {Printable(NameOf(row), charset)},
                         {row.saves_bytes == 0 ? "" : Bytes(row.saves_bytes)},
                         {row.remedy}});
  }
  grid.rows.push_back({{Bytes(whole)}, {"100.0%"}, {"in all"}, {""}, {""}});
  std::string text = Printable(found.name, charset) + " (pid " + std::to_string(found.pid);
  if (found.threads != 0) {
    text += ", " + std::to_string(found.threads) + (found.threads == 1 ? " thread" : " threads");
  } else {
    char seconds[32];
    snprintf(seconds, sizeof(seconds), "%.3g s", found.seconds);
    text += ", after " + std::string(seconds);
  }
  text += "): " + Bytes(found.kernels.resident_bytes) + " resident";
  if (found.kernels.proportional_bytes != 0) {
    text += ", " + Bytes(found.kernels.proportional_bytes) + " if shared pages are divided";
  }
  if (found.kernels.huge_bytes != 0) {
    text += ", " + Bytes(found.kernels.huge_bytes) + " in huge pages";
  }
  if (found.kernels.swapped_bytes != 0)
    text += ", " + Bytes(found.kernels.swapped_bytes) + " swapped";
  if (!found.backend.empty()) text += "; malloc is " + Printable(found.backend, charset);
  text += "\n\n" + report::FormatGrid(grid, width, charset, false);
  if (UntouchedBytes(account) != 0) {
    text += "\nNot resident: " + Bytes(UntouchedBytes(account)) +
            " of live blocks, which were never written, or are swapped.\n";
  }
  return text;
}

std::string Line(const std::string& text, Charset charset) {
  return "allomon explain: " + Printable(text, charset) + "\n";
}

}  // namespace

const options::CommandText& ExplainText() { return ExplainCommand().Text(); }

CommandResult RunExplain(const std::vector<std::string>& args, const report::Terminal& terminal) {
  const auto options = ExplainCommand().Parse(args);
  if (!options.ok()) {
    return {2, "", Line(std::string(options.status().message()), terminal.charset)};
  }
  const auto answer = options::AnswerTo(*options, ExplainText());
  if (answer.has_value()) return *answer;
  const auto found = options->pid != 0 ? Explain(options->pid) : ExplainFile(options->file);
  if (!found.ok()) return {2, "", Line(std::string(found.status().message()), terminal.charset)};
  CommandResult result;
  const int width = options->width >= 0 ? options->width : terminal.columns;
  result.out =
      options->format == Format::kJson ? ToJson(*found) : ToText(*found, width, terminal.charset);
  for (const std::string& note : found->account.notes) result.err += Line(note, terminal.charset);
  if (found->moved > kMostMoved) {
    result.status = 1;
    result.err += Line("its resident memory changed by " + report::Percentage(found->moved * 100) +
                           " while it was read; rows are off by as much",
                       terminal.charset);
  }
  return result;
}

}  // namespace allomon::explain

#include "tools/explain/explain.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/explain/account.h"
#include "tools/explain/explanation.h"
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
using Json = nlohmann::ordered_json;

enum class Format { kText, kJson };
constexpr options::Choice<Format> kFormats[] = {{"text", Format::kText}, {"json", Format::kJson}};

struct Options : options::Common {
  uint32_t pid = 0;
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
  if (options->pid != 0) return Bad("one process at a time: \"" + word + "\"");
  if (options::ParseNumber(word, &options->pid) && options->pid != 0 && options->pid <= INT32_MAX) {
    return absl::OkStatus();
  }
  return Bad("\"" + word + "\" is not the id of a process; allomon list shows some");
}

absl::Status Check(const Options& options) {
  return options.pid == 0 ? Bad("name a process by its id") : absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "explain";
  text.summary = "show where the resident memory of a process is";
  text.usages = {"PID [options]"};
  text.description = {
      "Divides the resident memory of a process into rows that add up to the kernel's figure: live "
      "and free blocks of its heap, what the allocator and Allomon keep, stacks, code, files and "
      "other mappings.  The process does nothing for it, and runs on.",
      "The heap is divided if the process has Allomon, recording or not; its memory is read for "
      "that, which needs the rights of a debugger (ptrace_scope)."};
  text.words = options::Words::kProcess;
  text.statuses = {{"0", "shown"},
                   {"1", "shown, and the process changed by more than 1 % meanwhile"},
                   {"2", "bad options, or the process cannot be read"}};
  text.examples = {{"allomon explain 4711", "why process 4711 is as large as it is"},
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

uint64_t Untouched(const Account& account) {
  uint64_t bytes = 0;
  for (const Row& row : account.rows) bytes += row.untouched_bytes;
  return bytes;
}

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
  for (const Row& row : account.rows) {
    const double percent = 100.0 * static_cast<double>(row.resident_bytes) /
                           static_cast<double>(std::max<uint64_t>(whole, 1));
    grid.rows.push_back({{Bytes(row.resident_bytes)},
                         {report::Percentage(percent)},
                         {Printable(NameOf(row), charset)},
                         {row.saves_bytes == 0 ? "" : Bytes(row.saves_bytes)},
                         {row.remedy}});
  }
  grid.rows.push_back({{Bytes(whole)}, {"100.0%"}, {"in all"}, {""}, {""}});
  std::string text = Printable(found.name, charset) + " (pid " + std::to_string(found.pid) + ", " +
                     std::to_string(found.threads) + (found.threads == 1 ? " thread" : " threads") +
                     "): " + Bytes(found.kernels.resident_bytes) + " resident";
  text += ", " + Bytes(found.kernels.proportional_bytes) + " if shared pages are divided";
  if (found.kernels.huge_bytes != 0) {
    text += ", " + Bytes(found.kernels.huge_bytes) + " in huge pages";
  }
  if (found.kernels.swapped_bytes != 0)
    text += ", " + Bytes(found.kernels.swapped_bytes) + " swapped";
  if (!found.backend.empty()) text += "; malloc is " + Printable(found.backend, charset);
  text += "\n\n" + report::FormatGrid(grid, width, charset, false);
  if (Untouched(account) != 0) {
    text += "\nNot resident: " + Bytes(Untouched(account)) +
            " of live blocks, which were never written, or are swapped.\n";
  }
  return text;
}

// --- JSON

std::string ToJson(const Explanation& found) {
  Json json = {{"process", found.name},
               {"pid", found.pid},
               {"threads", found.threads},
               {"allocator", found.backend},
               {"resident_bytes", found.kernels.resident_bytes},
               {"proportional_bytes", found.kernels.proportional_bytes},
               {"huge_bytes", found.kernels.huge_bytes},
               {"swapped_bytes", found.kernels.swapped_bytes},
               {"sum_bytes", found.account.totals.resident_bytes},
               {"untouched_bytes", Untouched(found.account)},
               {"moved", found.moved},
               {"rows", Json::array()},
               {"notes", found.account.notes}};
  for (const Row& row : found.account.rows) {
    Json item = {{"id", row.id}, {"name", row.name}, {"resident_bytes", row.resident_bytes}};
    if (row.count != 0) item["count"] = row.count;
    if (row.untouched_bytes != 0) item["untouched_bytes"] = row.untouched_bytes;
    if (!row.remedy.empty()) item["remedy"] = row.remedy;
    if (row.saves_bytes != 0) item["saves_bytes"] = row.saves_bytes;
    json["rows"].push_back(std::move(item));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
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
  const auto found = Explain(options->pid);
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

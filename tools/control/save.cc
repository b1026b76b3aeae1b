#include <string>
#include <vector>

#include "tools/control/control.h"
#include "tools/control/options.h"
#include "tools/control/processes.h"
#include "tools/export/export_command.h"
#include "tools/options/documents.h"
#include "tools/text/terminal.h"

namespace allomon::control {
namespace {

constexpr char kCommand[] = "save";

std::string OutOf(const SaveOptions& options) {
  if (!options.out.empty()) return options.out;
  return "allomon." + std::to_string(options.pid) + ".pb.gz";
}

}  // namespace

const options::CommandText& SaveText() { return SaveCommand().Text(); }

CommandResult RunSave(const std::vector<std::string>& args) {
  const auto options = ParseSaveOptions(args);
  if (!options.ok()) return Failed(kCommand, options.status());
  const auto answer = options::AnswerTo(*options, SaveCommand().Text());
  if (answer.has_value()) return *answer;
  const auto recordings = RecordingsOf(options->pid, options->all_children);
  if (!recordings.ok()) return Failed(kCommand, recordings.status());
  const std::string out = OutOf(*options);
  std::vector<std::string> words = {"--format=pprof", "-o", out, "--"};
  words.insert(words.end(), recordings->begin(), recordings->end());
  CommandResult result = interchange::RunExport(words, report::ThisTerminal());
  NameCommand("export", kCommand, &result.err);
  if (result.status == 0 && out != "-") {
    result.err = LineOf(kCommand, "next: allomon report " + out + ", or allomon flame " + out);
  }
  return result;
}

}  // namespace allomon::control

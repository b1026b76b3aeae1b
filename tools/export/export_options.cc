#include "tools/export/export_options.h"

#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/values.h"

namespace allomon::interchange {
namespace {

using options::Bad;

std::string FormatNames() {
  std::string names;
  for (const ExportFormat& format : ExportFormats()) {
    names += std::string(names.empty() ? "" : ", ") + format.name;
  }
  return names;
}

options::Argument Formats() {
  options::Argument formats("FORMAT");
  for (const ExportFormat& format : ExportFormats()) {
    formats.choices.push_back({format.name, format.summary});
  }
  return formats;
}

absl::Status SetFormat(const std::string& value, ExportOptions* options) {
  options->format = FindExportFormat(value);
  if (options->format != nullptr) return absl::OkStatus();
  return Bad("--format: \"" + value + "\" is none of " + FormatNames());
}

absl::Status SetMetric(const std::string& value, ExportOptions* options) {
  return options::Choose(load::kMetrics, "--metric", value, &options->metric.emplace());
}
// The old name for the metric of collapsed stacks.
absl::Status SetCounts(const std::string& value, ExportOptions* options) {
  return options::Choose(load::kMetrics, "--counts", value, &options->metric.emplace());
}

absl::Status SetOutput(const std::string& value, ExportOptions* options) {
  if (value.empty()) return Bad("-o: \"\" is not the name of a file, or -");
  options->output = value;
  return absl::OkStatus();
}

heap::LabelSelection& LabelsOf(ExportOptions* options) { return options->labels; }

absl::Status AddFile(const std::string& name, ExportOptions* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

absl::Status Check(const ExportOptions& options) {
  if (options.format == nullptr) return Bad("name a format: --format=" + FormatNames());
  if (options.files.empty()) return Bad("name the heap profile to export; - is standard input");
  return absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "export";
  text.summary = "write a heap profile in another format";
  text.usages = {"--format=FORMAT [options] FILE..."};
  text.description = {
      "Writes a heap profile for other programs.  FILE is a recording, pprof, heap_v2, collapsed "
      "stacks or mlmon.out; - is standard input.  Several of one program add up."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "written"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {
      {"allomon export --format=callgrind -o callgrind.out x.pb.gz", "a file for kcachegrind"},
      {"allomon export --format=collapsed --metric=peak x.pb.gz | sort",
       "lines of text, of what was live at the peak"}};
  text.manual = "tools/export/README.md";
  return text;
}

}  // namespace

const options::Command<ExportOptions>& ExportCommand() {
  static const options::Command<ExportOptions> command(
      Text(),
      {{"",
        {{"--format", Formats(), "", "the format that is written", SetFormat},
         {"--metric", options::OneOf(load::kMetrics), "live if the profile has it, else alloc",
          "what is written, or comes first; of collapsed stacks, which have one number each, what "
          "they count.",
          SetMetric},
         options::Option<ExportOptions>("--counts", options::OneOf(load::kMetrics), "",
                                        "the old name of --metric for collapsed stacks", SetCounts)
             .Hidden(),
         {"-o, --output", "FILE", "-, which is standard output",
          "the file, whose contents are replaced.", SetOutput},
         load::BornOption(&ExportOptions::born),
         load::OutlivedOption(&ExportOptions::outlived),
         load::DebugDirOption(&ExportOptions::debug_dir)}},
       {"", load::LabelOptions(
                "the outermost frames are the values of a label, C++ types, or sources of "
                "memory",
                &ExportOptions::by_label, LabelsOf)}},
      AddFile, Check);
  return command;
}

absl::StatusOr<ExportOptions> ParseExportOptions(const std::vector<std::string>& args) {
  return ExportCommand().Parse(args);
}

}  // namespace allomon::interchange

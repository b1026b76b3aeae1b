#include "tools/export/export_command.h"

#include <utility>

#include "tools/export/export.h"
#include "tools/export/exporters.h"
#include "tools/heap/computed_label.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/labels.h"
#include "tools/load/load.h"
#include "tools/load/naming.h"
#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tracker/formats/write_file.h"

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
  // A pprof file may be given more names in its place.
  if (options.format->run == ToPprof || options.output == "-") return absl::OkStatus();
  return load::CheckOutput("-o", options.output, options.files);
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "export";
  text.summary = "write a heap profile in another format";
  text.usages = {"--format=FORMAT [options] FILE..."};
  text.description = {
      "Writes a heap profile for other programs.  FILE is a recording, pprof, heap_v2, collapsed "
      "stacks or mlmon.out; - is standard input, and the id of a process that records stands for "
      "its profile.  Several of one program add up."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "written"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {
      {"allomon export --format=callgrind -o callgrind.out x.pb.gz", "a file for kcachegrind"},
      {"allomon export --format=collapsed --metric=peak x.pb.gz | sort",
       "lines of text, of what was live at the peak"}};
  text.manual = "tools/export/README.md";
  return text;
}

using heap::HeapProfile;
using heap::Metric;

// Names the files in an error.
std::string Named(const ExportOptions& options) {
  const std::string& first = options.files[0];
  const size_t others = options.files.size() - 1;
  return others == 0 ? first : first + " and " + std::to_string(others) + " more";
}

absl::StatusOr<Metric> MetricToWrite(const ExportOptions& options, const HeapProfile& profile) {
  const auto preset = DefaultMetric(profile);
  if (!preset.has_value()) return Bad(Named(options) + " counts nothing that can be exported");
  const Metric metric = options.metric.value_or(*preset);
  if (Has(profile, metric)) return metric;
  return Bad(Named(options) + " does not have --metric=" + heap::MetricName(metric) + "; it has " +
             MetricsOf(profile));
}

absl::StatusOr<HeapProfile> Load(const ExportOptions& options,
                                 const std::vector<std::string>& files) {
  load::LoadOptions load_options;
  load_options.name_sources = options.name_sources;
  load_options.counts_metric = options.metric.value_or(Metric::kLive);
  return load::LoadSum(files, load_options, nullptr);
}

absl::Status Choose(const ExportOptions& options, HeapProfile* profile) {
  const std::string why_not =
      heap::KeepChosen(options.born, options.outlived, options.labels, options.by_label, profile);
  return why_not.empty() ? absl::OkStatus() : Bad(Named(options) + ": " + why_not);
}

absl::StatusOr<HeapProfile> LoadChosen(const ExportOptions& options,
                                       const std::vector<std::string>& files) {
  auto profile = Load(options, files);
  if (!profile.ok()) return profile;
  const absl::Status chosen = Choose(options, &*profile);
  if (!chosen.ok()) return chosen;
  NarrowMappings(options.name_sources, &*profile);
  return profile;
}

absl::StatusOr<OutputFiles> WithName(const ExportOptions& options,
                                     absl::StatusOr<OutputFiles> files) {
  if (files.ok()) return files;
  return Bad(Named(options) + ": " + std::string(files.status().message()));
}

absl::StatusOr<OutputFiles> ConvertSeries(const ExportOptions& options) {
  std::vector<HeapProfile> profiles;
  for (const std::string& file : options.files) {
    auto profile = LoadChosen(options, {file});
    if (!profile.ok()) return profile.status();
    const auto metric = MetricToWrite(options, *profile);
    if (!metric.ok()) return metric.status();
    profiles.push_back(*std::move(profile));
  }
  return WithName(options,
                  ExportSeries(*options.format, profiles, options.metric.value_or(Metric::kLive)));
}

absl::StatusOr<OutputFiles> Convert(const ExportOptions& options) {
  if (options.format->run_series != nullptr && options.files.size() > 1) {
    return ConvertSeries(options);
  }
  auto profile = LoadChosen(options, options.files);
  if (!profile.ok()) return profile.status();
  const auto metric = MetricToWrite(options, *profile);
  if (!metric.ok()) return metric.status();
  return WithName(options, Export(*options.format, *profile, *metric));
}

absl::Status Write(const std::string& path, const OutputFiles& files) {
  std::vector<FileToWrite> to_write;
  for (const OutputFile& file : files) {
    to_write.push_back({path + file.suffix, file.bytes, file.mode});
  }
  std::string error;
  return WriteFilesAtomically(to_write, &error) ? absl::OkStatus() : Bad(error);
}

absl::StatusOr<std::string> Run(const ExportOptions& options) {
  auto files = Convert(options);
  if (!files.ok()) return files.status();
  // A device or a pipe has no place beside it for a second file.
  const bool is_file = options.output != "-" && IsReplacedByWriting(options.output);
  if (files->size() > 1 && !is_file) {
    return Bad(std::string("--format=") + options.format->name +
               " is more than one file; name the first one with -o");
  }
  if (options.output != "-") {
    const absl::Status status = Write(options.output, *files);
    if (!status.ok()) return status;
    return std::string();
  }
  return std::move(files->front().bytes);
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
         load::OutlivedOption(&ExportOptions::outlived)}},
       {"", load::NameOptions(&ExportOptions::name_sources)},
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

const options::CommandText& ExportText() { return ExportCommand().Text(); }

CommandResult RunExport(const std::vector<std::string>& args, const report::Terminal& terminal) {
  const auto bad = [charset = terminal.charset](const absl::Status& status) {
    return CommandResult{
        2, "", "allomon export: " + Printable(std::string(status.message()), charset) + "\n"};
  };
  const auto options = ParseExportOptions(args);
  if (!options.ok()) return bad(options.status());
  const auto answer = options::AnswerTo(*options, ExportCommand().Text());
  if (answer.has_value()) return *answer;
  if (options->output == "-" && terminal.is_terminal && !options->format->is_text) {
    return bad(Bad(std::string("--format=") + options->format->name +
                   " is no text, and standard output is a terminal: name a file with -o, or "
                   "write into a pipe"));
  }
  auto out = Run(*options);
  if (!out.ok()) return bad(out.status());
  return {0, *std::move(out), ""};
}

}  // namespace allomon::interchange

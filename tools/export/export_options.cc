#include "tools/export/export_options.h"

#include "tools/export/metric_names.h"
#include "tools/options/command_line.h"
#include "tools/options/values.h"

namespace allomon::interchange {
namespace {

constexpr char kMetricNames[] = "alloc, live, peak, temporary, promoted or died-young";

using options::Bad;

std::string FormatNames() {
  std::string names;
  for (const ExportFormat& format : ExportFormats()) {
    names += std::string(names.empty() ? "" : ", ") + format.name;
  }
  return names;
}

absl::Status SetFormat(const std::string& value, ExportOptions* options) {
  options->format = FindExportFormat(value);
  if (options->format != nullptr) return absl::OkStatus();
  return Bad("--format: \"" + value + "\" is none of " + FormatNames());
}

absl::Status BadMetric(const std::string& option, const std::string& value) {
  return Bad(option + ": \"" + value + "\" is not " + kMetricNames);
}

absl::Status SetMetric(const std::string& value, ExportOptions* options) {
  options->metric = MetricOf(value);
  return options->metric.has_value() ? absl::OkStatus() : BadMetric("--metric", value);
}

absl::Status SetCounts(const std::string& value, ExportOptions* options) {
  const auto metric = MetricOf(value);
  options->counts_metric = metric.value_or(heap::Metric::kLive);
  return metric.has_value() ? absl::OkStatus() : BadMetric("--counts", value);
}

absl::Status SetOutput(const std::string& value, ExportOptions* options) {
  if (value.empty()) return Bad("-o: \"\" is not the name of a file, or -");
  options->output = value;
  return absl::OkStatus();
}

absl::Status SetDebugDir(const std::string& value, ExportOptions* options) {
  if (value.empty() || value[0] != '/') {
    return Bad("--debug-dir: \"" + value + "\" is not a folder such as /sysroot/usr/lib/debug");
  }
  options->debug_dir = value;
  return absl::OkStatus();
}

absl::Status SetBy(const std::string& value, ExportOptions* options) {
  const std::optional<std::string> key = heap::KeyOfBy(value);
  options->by_label = key.value_or("");
  if (key.has_value()) return absl::OkStatus();
  return Bad("--by: \"" + value + "\" is not label:KEY, such as label:tenant");
}

absl::Status AddMatch(const std::string& value, std::vector<heap::LabelMatch>* matches) {
  heap::LabelMatch match;
  if (!heap::ParseLabelMatch(value, &match)) {
    return Bad("\"" + value + "\" is not KEY=VALUE, such as tenant=acme, or KEY");
  }
  matches->push_back(match);
  return absl::OkStatus();
}

absl::Status AddFocusLabel(const std::string& value, ExportOptions* options) {
  return AddMatch(value, &options->labels.focus);
}
absl::Status AddIgnoreLabel(const std::string& value, ExportOptions* options) {
  return AddMatch(value, &options->labels.ignore);
}

absl::Status AddFile(const std::string& name, ExportOptions* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

void SetHelp(ExportOptions* options) { options->help = true; }

constexpr options::ValueOption<ExportOptions> kValueOptions[] = {
    {"--format", SetFormat},
    {"--metric", SetMetric},
    {"--counts", SetCounts},
    {"--output", SetOutput},
    {"-o", SetOutput},
    {"--debug-dir", SetDebugDir},
    {"--by", SetBy},
    {"--focus-label", AddFocusLabel},
    {"--ignore-label", AddIgnoreLabel}};
constexpr options::Flag<ExportOptions> kFlags[] = {{"--help", SetHelp}, {"-h", SetHelp}};

absl::Status Check(const ExportOptions& options) {
  if (options.help) return absl::OkStatus();
  if (options.format == nullptr) return Bad("name a format: --format=" + FormatNames());
  if (options.files.empty()) return Bad("name the heap profile to export; - is standard input");
  return absl::OkStatus();
}

std::string FormatsUsage() {
  std::string lines;
  for (const ExportFormat& format : ExportFormats()) {
    std::string name = format.name;
    name.resize(12, ' ');
    lines += "    " + name + format.summary + "\n";
  }
  return lines;
}

}  // namespace

absl::StatusOr<ExportOptions> ParseExportOptions(const std::vector<std::string>& args) {
  ExportOptions options;
  absl::Status status = ParseCommandLine(
      args, options::Tables<ExportOptions>(kFlags, kValueOptions, AddFile), &options);
  if (status.ok()) status = Check(options);
  if (!status.ok()) return status;
  return options;
}

std::string ExportUsage() {
  return "usage: allomon export --format=FORMAT [options] FILE...\n"
         "  Writes a heap profile for other programs.  FILE is a recording, pprof, heap_v2,\n"
         "  collapsed stacks or mlmon.out; - is standard input.  Several of one program add up.\n"
         "\n"
         "  --format=FORMAT\n" +
         FormatsUsage() +
         "  --metric=METRIC    what is written, or comes first: alloc, live, peak, temporary,\n"
         "                     promoted or died-young.  Default live if the profile has it, else\n"
         "                     alloc\n"
         "  -o OUTPUT          a file, whose contents are replaced; -: standard output, the "
         "default\n"
         "  --counts=METRIC    what the numbers of collapsed stacks count.  Default live\n"
         "  --by=label:KEY     the outermost frames are the values of a label\n"
         "  --focus-label=KEY=VALUE, --ignore-label=KEY=VALUE\n"
         "                     only blocks with that label; without them.  KEY alone: any value\n"
         "  --debug-dir=DIR    debug files are looked for there, too\n"
         "\n"
         "  Status 0: written; 2: bad input, and one line on standard error says which.\n"
         "  What each format keeps and loses: tools/export/README.md\n";
}

}  // namespace allomon::interchange

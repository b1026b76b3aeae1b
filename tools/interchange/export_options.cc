#include "tools/interchange/export_options.h"

#include "tools/interchange/metric_names.h"

namespace allomon::interchange {
namespace {

constexpr char kMetricNames[] = "alloc, live, peak, temporary, promoted or died-young";

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(what); }

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

struct ValueOption {
  std::string_view name;
  absl::Status (*set)(const std::string& value, ExportOptions* options);
};
constexpr ValueOption kValueOptions[] = {{"--format", SetFormat},
                                         {"--metric", SetMetric},
                                         {"--counts", SetCounts},
                                         {"--output", SetOutput},
                                         {"-o", SetOutput},
                                         {"--debug-dir", SetDebugDir},
                                         {"--by", SetBy},
                                         {"--focus-label", AddFocusLabel},
                                         {"--ignore-label", AddIgnoreLabel}};

class Parser {
 public:
  explicit Parser(const std::vector<std::string>& args) : args_(args) {}

  absl::StatusOr<ExportOptions> Parse() {
    bool options_ended = false;
    while (at_ < args_.size()) {
      const std::string& arg = args_[at_++];
      if (arg == "--" && !options_ended) {
        options_ended = true;
        continue;
      }
      const bool is_option = !options_ended && arg.size() > 1 && arg[0] == '-';
      const absl::Status status = is_option ? SetOption(arg) : SetFile(arg);
      if (!status.ok()) return status;
    }
    return Checked();
  }

 private:
  absl::StatusOr<ExportOptions> Checked() const {
    if (options_.help) return options_;
    if (options_.format == nullptr) return Bad("name a format: --format=" + FormatNames());
    if (options_.file.empty()) return Bad("name the heap profile to export; - is standard input");
    return options_;
  }

  absl::Status SetFile(const std::string& name) {
    if (!options_.file.empty()) {
      return Bad("one profile at a time: " + options_.file + " or " + name);
    }
    options_.file = name;
    return absl::OkStatus();
  }

  absl::Status SetOption(const std::string& arg) {
    if (arg == "--help" || arg == "-h") {
      options_.help = true;
      return absl::OkStatus();
    }
    const size_t equals = arg.find('=');
    const std::string name = arg.substr(0, equals);
    for (const ValueOption& option : kValueOptions) {
      if (option.name != name) continue;
      if (equals != std::string::npos) return option.set(arg.substr(equals + 1), &options_);
      if (at_ == args_.size()) return Bad(name + " needs a value");
      return option.set(args_[at_++], &options_);
    }
    return Bad("unknown option " + arg + "; --help lists them");
  }

  const std::vector<std::string>& args_;
  size_t at_ = 0;
  ExportOptions options_;
};

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
  return Parser(args).Parse();
}

std::string ExportUsage() {
  return "usage: allomon export --format=FORMAT [options] FILE\n"
         "  Writes a heap profile for other programs.  FILE is a recording, pprof, heap_v2,\n"
         "  collapsed stacks or mlmon.out; - is standard input.\n"
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
         "  What each format keeps and loses: tools/interchange/README.md\n";
}

}  // namespace allomon::interchange

#include "tools/flame/options.h"

#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/values.h"

namespace allomon::flame {
namespace {

constexpr char kHostage[] = "hostage";

// Metrics of files, and that of a process.
options::Argument Metrics() {
  options::Argument metrics = options::OneOf(load::kMetrics);
  metrics.name += std::string("|") + kHostage;
  metrics.choices.push_back({kHostage, ""});
  return metrics;
}

heap::LabelSelection& LabelsOf(Options* options) { return options->labels; }

absl::Status SetMetric(const std::string& value, Options* options) {
  options->is_of_pages = value == kHostage;
  if (options->is_of_pages) return absl::OkStatus();
  if (options::Choose(load::kMetrics, "--metric", value, &options->metric.emplace()).ok()) {
    return absl::OkStatus();
  }
  return options::BadValue("--metric", value, options::InWords(Metrics().choices));
}

absl::Status AddFile(const std::string& name, Options* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (options.files.empty()) {
    return options::Bad("no profile to show; name the file that allomon run wrote");
  }
  if (!options.is_of_pages) return absl::OkStatus();
  const std::string& word = options.files[0];
  if (options.files.size() > 1 || word.find_first_not_of("0123456789") != std::string::npos) {
    return options::Bad("--metric=hostage is of one process that runs: name it by its id");
  }
  if (!options.before.empty() || !options.born.is_all() || options.outlived.is_asked) {
    return options::Bad("--metric=hostage: leave out --diff, --born and --outlived");
  }
  return absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "flame";
  text.summary = "write an interactive flame graph as an HTML file";
  text.usages = {"[options] FILE...", "--metric=hostage [options] PID"};
  text.description = {
      "Writes an interactive flame graph of heap profiles: one HTML file that loads nothing.  "
      "Several profiles add up.  Of a process, --metric=hostage shows which live blocks keep pages "
      "of its heap that are mostly free."};
  text.words = options::Words::kFiles;
  text.statuses = {{"0", "written"}, {"2", "bad input, and one line on standard error says which"}};
  text.examples = {
      {"allomon flame -o server.html allomon.server.17.pb.gz",
       "what the server's memory was made of at its peak"},
      {"allomon flame --diff=old.pb.gz new.pb.gz", "red is what grew since old.pb.gz"}};
  text.manual = "tools/flame/README.md";
  return text;
}

}  // namespace

const options::Command<Options>& FlameCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--diff", "FILE", "",
          "compares with an earlier profile: what grew since is red, what shrank is blue",
          &Options::before},
         {"--metric", Metrics(), "peak, or what there is", "what is shown first.", SetMetric},
         {"--title", "TEXT", "the program's name", "the title of the page.", &Options::title},
         {"-o, --output", "FILE", "allomon.html", "the page; replaced if it exists.",
          &Options::out},
         load::BornOption(&Options::born),
         load::OutlivedOption(&Options::outlived),
         load::DebugDirOption(&Options::debug_dir)}},
       {"", load::LabelOptions(
                "the outermost frames are the values of a label, C++ types, or sources of "
                "memory",
                &Options::by_label, LabelsOf)}},
      AddFile, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return FlameCommand().Parse(args);
}

}  // namespace allomon::flame

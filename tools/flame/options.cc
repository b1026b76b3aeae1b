#include "tools/flame/options.h"

#include "tools/load/profile_options.h"
#include "tools/options/choices.h"
#include "tools/options/values.h"

namespace allomon::flame {
namespace {

heap::LabelSelection& LabelsOf(Options* options) { return options->labels; }

absl::Status SetMetric(const std::string& value, Options* options) {
  return options::Choose(load::kMetrics, "--metric", value, &options->metric.emplace());
}

absl::Status AddFile(const std::string& name, Options* options) {
  options->files.push_back(name);
  return absl::OkStatus();
}

absl::Status Check(const Options& options) {
  if (!options.files.empty()) return absl::OkStatus();
  return options::Bad("no profile to show; name the file that allomon run wrote");
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "flame";
  text.summary = "write an interactive flame graph as an HTML file";
  text.usages = {"[options] FILE..."};
  text.description = {
      "Writes an interactive flame graph of heap profiles: one HTML file that loads nothing.  "
      "Several profiles add up."};
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
         {"--metric", options::OneOf(load::kMetrics), "peak, or what there is",
          "what is shown first.", SetMetric},
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

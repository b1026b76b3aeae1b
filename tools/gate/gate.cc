#include "tools/gate/gate.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <optional>
#include <utility>

#include "tools/gate/comparison.h"
#include "tools/gate/figures.h"
#include "tools/gate/trend.h"
#include "tools/options/choices.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
#include "tools/text/plain_text.h"
#include "tracker/formats/write_file.h"

namespace allomon::gate {
namespace {

using options::Bad;

// "5%" or "0.5%".  The percent sign is required, since 0.05 could mean either.
absl::Status SetMaxGrowth(const std::string& value, Options* options) {
  double percent = 0;
  const bool has_sign = !value.empty() && value.back() == '%';
  const bool is_number =
      has_sign && options::ParseNumber(value.substr(0, value.size() - 1), &percent);
  if (!is_number || !std::isfinite(percent) || percent < 0) {
    return options::BadValue("--max-growth", value, "a percentage; write for example 5%");
  }
  options->allowance = {percent / 100, percent / 100};
  return absl::OkStatus();
}

absl::Status AddWord(const std::string& word, Options*) {
  return Bad("unknown argument " + word + "; --help lists all");
}

constexpr options::Choice<Format> kFormats[] = {
    {"text", Format::kText},
    {"markdown", Format::kMarkdown},
    {"github-action-benchmark", Format::kActionBenchmark}};

absl::Status SetFormat(const std::string& value, Options* options) {
  return options::Choose(kFormats, "--format", value, &options->format);
}

absl::Status Check(const Options& options) {
  const bool has_history = !options.history.empty();
  const bool needs_baseline = options.update || !options.junit.empty() || options.github ||
                              (!has_history && options.format != Format::kActionBenchmark);
  if (!has_history && !options.draw.empty()) {
    return Bad("--draw draws a history; name its folder by --history=DIR");
  }
  if (options.baseline.empty() && needs_baseline) return Bad("--baseline=FILE is missing");
  if (options.current.empty()) {
    if (!has_history) return Bad("--current=FILE is missing");
    if (options.format == Format::kActionBenchmark || !options.baseline.empty()) {
      return Bad("--current=FILE is missing: without it --history only shows what is there");
    }
  }
  if (has_history && options.update) {
    return Bad("--update writes the baseline and keeps no run: leave out --history");
  }
  if (options.current.empty() && !(options.commit.empty() && options.profile.empty())) {
    return Bad("--commit and --profile are of a run; name it by --current=FILE");
  }
  if (!has_history && !options.commit.empty()) {
    return Bad("--commit is of use with --history=DIR alone");
  }
  return absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "gate";
  text.summary = "fail when benchmarks allocate more than a baseline";
  text.usages = {"--baseline=FILE --current=FILE [options]",
                 "--history=DIR [--current=FILE] [options]"};
  text.description = {
      "Compares two runs of Google Benchmark by what they allocate. With --history it keeps the "
      "figures of each run, and names the commits at which they changed."};
  text.statuses = {{"0", "nothing grew"}, {"1", "something did"}, {"2", "bad input"}};
  text.examples = {{"allomon gate --baseline=old.json --current=new.json --max-growth=5%",
                    "fails if a benchmark allocates 5 % more than it did"},
                   {"allomon gate --history=gate_history --current=new.json",
                    "keeps the run, and fails if figures grew at its commit"},
                   {"allomon gate --history=gate_history --draw=history.svg",
                    "draws all runs, with a mark at each change"}};
  text.manual = "tools/gate/README.md";
  return text;
}

Result BadInput(const std::string& line) {
  return {2, "", "allomon gate: " + Printable(line, Charset::kUtf8) + "\n"};
}

Result BadInput(const absl::Status& status) { return BadInput(std::string(status.message())); }

Result Update(const Options& options, const std::vector<Figures>& current) {
  std::string error;
  if (!WriteFileAtomically(options.baseline, ToBaseline(current), 0644, &error)) {
    return BadInput(error);
  }
  const char* const noun = current.size() == 1 ? " benchmark" : " benchmarks";
  return {0, options.baseline + ": " + std::to_string(current.size()) + noun + " written\n", ""};
}

// The sum of a command's parts.
struct Output {
  int status = 0;
  std::string text;
  std::string markdown;
  std::string github;
  std::string notes;  // for standard error
};

// Returns an error, or adds the comparison with the baseline.
absl::Status AddComparison(const Options& options, const std::vector<Figures>& current,
                           Output* output) {
  if (access(options.baseline.c_str(), F_OK) != 0 && errno == ENOENT) {
    return absl::NotFoundError(
        options.baseline +
        ": there is no baseline; --update writes it (bazel run NAME.update, or cmake --build with "
        "--target NAME_update)");
  }
  const auto baseline = ReadFigures(options.baseline, "");
  if (!baseline.ok()) return baseline.status();
  const auto comparison = Compare(*baseline, current, options.allowance);
  if (!comparison.ok())
    return FileError(options.current, std::string(comparison.status().message()));
  std::string error;
  if (!options.junit.empty() &&
      !WriteFileAtomically(options.junit, ToJunit(*comparison), 0644, &error)) {
    return absl::InternalError(error);
  }
  output->text += ToText(*comparison);
  output->markdown += ToMarkdown(*comparison);
  if (options.github) output->github += ToGithub(*comparison);
  if (!comparison->passed()) output->status = 1;
  return absl::OkStatus();
}

// Returns an error, or adds the history.  `current` is null if it is only shown.
absl::Status AddHistory(const Options& options, const std::vector<Figures>* current,
                        Output* output) {
  absl::StatusOr<Trend> trend;
  if (current == nullptr) {
    trend = ReadTrend(options.history);
  } else {
    const auto commit = CommitOfRun(options.commit);
    if (!commit.ok()) return commit.status();
    trend = AddToTrend(options.history, *commit, *current);
  }
  if (!trend.ok()) return trend.status();
  std::string error;
  if (!options.draw.empty() &&
      !WriteFileAtomically(options.draw, ToSvg(trend->history, trend->findings), 0644, &error)) {
    return absl::InternalError(error);
  }
  const std::string& damage = trend->history.damage;
  if (!damage.empty()) output->notes += "allomon gate: " + damage + "\n";
  output->text += ToText(*trend);
  output->markdown += (output->markdown.empty() ? "" : "\n") + ToMarkdown(*trend);
  if (trend->grew) output->status = 1;
  return absl::OkStatus();
}

Result Judged(const Options& options) {
  std::optional<std::vector<Figures>> current;
  if (!options.current.empty()) {
    auto read = ReadFigures(options.current, options.profile);
    if (!read.ok()) return BadInput(read.status());
    current = *std::move(read);
  }
  if (options.update) return Update(options, *current);
  Output output;
  absl::Status status;
  if (!options.baseline.empty()) status = AddComparison(options, *current, &output);
  if (status.ok() && !options.history.empty()) {
    status = AddHistory(options, current.has_value() ? &*current : nullptr, &output);
  }
  if (!status.ok()) return BadInput(status);
  switch (options.format) {
    case Format::kText:
      return {output.status, output.text + output.github, output.notes};
    case Format::kMarkdown:
      return {output.status, output.markdown, output.notes};
    case Format::kActionBenchmark:
      return {output.status, ToActionBenchmark(*current), output.notes};
  }
  return {};
}

}  // namespace

const options::Command<Options>& GateCommand() {
  static const options::Command<Options> command(
      Text(),
      {{"",
        {{"--baseline", "FILE", "", "the run to compare with", &Options::baseline},
         {"--current", "FILE", "", "the run that is judged", &Options::current},
         {"--profile", "FILE", "",
          "call sites of the current run (ALLOMON_GATE_PROFILE wrote them)", &Options::profile},
         {"--max-growth", "PERCENT%", "0%, of instructions 2%", "growth that passes.",
          SetMaxGrowth},
         {"--update", "writes the current run to the baseline instead of comparing",
          &Options::update},
         {"--history", "DIR", "",
          "keeps the run's figures in this folder, and names the commits at which figures changed; "
          "without --current it only shows them",
          &Options::history},
         {"--commit", "NAME", "", "the run's commit; by default git's, else that of the CI system",
          &Options::commit},
         {"--draw", "FILE", "", "draws the history as SVG", &Options::draw},
         {"--format", options::OneOf(kFormats), "text", "what is printed.", SetFormat},
         {"--junit", "FILE", "", "writes the result as JUnit's XML, too", &Options::junit},
         {"--github", "prints the failures as GitHub annotations, too", &Options::github}}}},
      AddWord, Check);
  return command;
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  return GateCommand().Parse(args);
}

const options::CommandText& GateText() { return GateCommand().Text(); }

Result RunGate(const std::vector<std::string>& args) {
  const auto options = ParseOptions(args);
  if (!options.ok()) return BadInput(options.status());
  const auto answer = options::AnswerTo(*options, GateCommand().Text());
  if (answer.has_value()) return *answer;
  return Judged(*options);
}

}  // namespace allomon::gate

#include "tools/gate/gate.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "tools/gate/comparison.h"
#include "tools/gate/figures.h"
#include "tools/options/documents.h"
#include "tools/options/values.h"
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

absl::Status Check(const Options& options) {
  if (options.baseline.empty()) return Bad("--baseline=FILE is missing");
  return options.current.empty() ? Bad("--current=FILE is missing") : absl::OkStatus();
}

options::CommandText Text() {
  options::CommandText text;
  text.name = "gate";
  text.summary = "fail when benchmarks allocate more than a baseline";
  text.usages = {"--baseline=FILE --current=FILE [options]"};
  text.description = {"Compares two runs of Google Benchmark by what they allocate."};
  text.statuses = {{"0", "nothing grew"}, {"1", "something did"}, {"2", "bad input"}};
  text.examples = {{"allomon gate --baseline=old.json --current=new.json --max-growth=5%",
                    "fails if a benchmark allocates 5 % more than it did"}};
  text.manual = "tools/gate/README.md";
  return text;
}

Result BadInput(const std::string& line) { return {2, "", "allomon gate: " + line + "\n"}; }

Result BadInput(const absl::Status& status) { return BadInput(std::string(status.message())); }

Result Update(const Options& options, const std::vector<Figures>& current) {
  std::string error;
  if (!WriteFileAtomically(options.baseline, ToBaseline(current), 0644, &error)) {
    return BadInput(error);
  }
  const char* const noun = current.size() == 1 ? " benchmark" : " benchmarks";
  return {0, options.baseline + ": " + std::to_string(current.size()) + noun + " written\n", ""};
}

Result Report(const Options& options, const Comparison& comparison) {
  std::string error;
  if (!options.junit.empty() &&
      !WriteFileAtomically(options.junit, ToJunit(comparison), 0644, &error)) {
    return BadInput(error);
  }
  std::string out = ToText(comparison);
  if (options.github) out += ToGithub(comparison);
  return {comparison.passed() ? 0 : 1, out, ""};
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
  const auto current = ReadFigures(options->current, options->profile);
  if (!current.ok()) return BadInput(current.status());
  if (options->update) return Update(*options, *current);
  if (access(options->baseline.c_str(), F_OK) != 0 && errno == ENOENT) {
    return BadInput(
        absl::NotFoundError(options->baseline +
                            ": there is no baseline; --update writes it (bazel run NAME.update, or "
                            "cmake --build with --target NAME_update)"));
  }
  const auto baseline = ReadFigures(options->baseline, "");
  if (!baseline.ok()) return BadInput(baseline.status());
  const auto comparison = Compare(*baseline, *current, options->allowance);
  if (!comparison.ok())
    return BadInput(options->current + ": " + std::string(comparison.status().message()));
  return Report(*options, *comparison);
}

}  // namespace allomon::gate

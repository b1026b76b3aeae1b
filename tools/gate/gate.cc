#include "tools/gate/gate.h"

#include <unistd.h>

#include <cerrno>

#include "tools/gate/comparison.h"
#include "tools/gate/figures.h"
#include "tools/gate/options.h"
#include "tools/options/documents.h"
#include "tracker/formats/write_file.h"

namespace allomon::gate {
namespace {

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

#include "tools/gate/options.h"

#include <cmath>
#include <cstdlib>

namespace allomon::gate {
namespace {

// "5%" or "0.5%".  The percent sign is required, since 0.05 could mean either.
absl::StatusOr<double> ParsePercentage(const std::string& text) {
  char* end = nullptr;
  const double percent = std::strtod(text.c_str(), &end);
  const bool is_number = end != text.c_str() && std::isfinite(percent) && percent >= 0;
  if (!is_number || std::string(end) != "%") {
    return absl::InvalidArgumentError("--max-growth: \"" + text +
                                      "\" is not a percentage; write for example 5%");
  }
  return percent / 100;
}

absl::Status SetMaxGrowth(const std::string& text, Options* options) {
  const auto fraction = ParsePercentage(text);
  if (!fraction.ok()) return fraction.status();
  options->allowance = {*fraction, *fraction};
  return absl::OkStatus();
}

bool* FlagOf(const std::string& name, Options* options) {
  if (name == "--update") return &options->update;
  if (name == "--github") return &options->github;
  if (name == "--help" || name == "-h") return &options->help;
  return nullptr;
}

std::string* ValueOf(const std::string& name, Options* options) {
  if (name == "--baseline") return &options->baseline;
  if (name == "--current") return &options->current;
  if (name == "--profile") return &options->profile;
  if (name == "--junit") return &options->junit;
  return nullptr;
}

absl::Status Check(const Options& options) {
  if (options.help) return absl::OkStatus();
  if (options.baseline.empty()) return absl::InvalidArgumentError("--baseline=FILE is missing");
  if (options.current.empty()) return absl::InvalidArgumentError("--current=FILE is missing");
  return absl::OkStatus();
}

}  // namespace

const char kUsage[] =
    "usage: allomon gate --baseline=FILE --current=FILE [options]\n"
    "  Compares two runs of Google Benchmark by what they allocate.\n"
    "  --profile=FILE     call sites of the current run (ALLOMON_GATE_PROFILE wrote them)\n"
    "  --max-growth=5%    growth that passes; default 0%, of instructions 2%\n"
    "  --update           write the current run to the baseline instead of comparing\n"
    "  --junit=FILE       write the result as JUnit's XML too\n"
    "  --github           print the failures as GitHub annotations too\n"
    "  status: 0 nothing grew, 1 something did, 2 bad input\n";

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args) {
  Options options;
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t equals = args[i].find('=');
    const std::string name = args[i].substr(0, equals);
    if (bool* flag = FlagOf(name, &options); flag != nullptr && equals == std::string::npos) {
      *flag = true;
      continue;
    }
    std::string growth;
    std::string* value = name == "--max-growth" ? &growth : ValueOf(name, &options);
    if (value == nullptr)
      return absl::InvalidArgumentError("unknown argument " + args[i] + "; --help lists all");
    if (equals == std::string::npos && ++i == args.size()) {
      return absl::InvalidArgumentError(name + " needs a value");
    }
    *value = equals == std::string::npos ? args[i] : args[i].substr(equals + 1);
    if (value != &growth) continue;
    if (absl::Status status = SetMaxGrowth(growth, &options); !status.ok()) return status;
  }
  if (absl::Status status = Check(options); !status.ok()) return status;
  return options;
}

}  // namespace allomon::gate

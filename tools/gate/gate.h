// `allomon gate`: fails when benchmarks allocate more than a baseline allows.  README.md is the
// manual.
#ifndef ALLOMON_TOOLS_GATE_GATE_H_
#define ALLOMON_TOOLS_GATE_GATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/comparison.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"

namespace allomon::gate {

// ---- The command line of `allomon gate`.

enum class Format { kText, kMarkdown, kActionBenchmark };

struct Options : options::Common {
  std::string baseline;  // "" for none, as all files here
  std::string current;
  std::string profile;
  std::string history;
  std::string commit;
  std::string draw;
  std::string junit;
  Format format = Format::kText;
  Allowance allowance;
  bool update = false;
  bool github = false;
};

const options::Command<Options>& GateCommand();

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

const options::CommandText& GateText();

// Status 0: passed, 1: failed, 2: could not be judged.
using Result = CommandResult;

// `args` does not include the command's name.
Result RunGate(const std::vector<std::string>& args);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_GATE_H_

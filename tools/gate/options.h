// The command line of `allomon gate`.
#ifndef ALLOMON_TOOLS_GATE_OPTIONS_H_
#define ALLOMON_TOOLS_GATE_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/comparison.h"
#include "tools/options/command_line.h"

namespace allomon::gate {

struct Options : options::Common {
  std::string baseline;
  std::string current;
  std::string profile;  // "" for none
  std::string junit;    // "" for none
  Allowance allowance;
  bool update = false;
  bool github = false;
};

const options::Command<Options>& GateCommand();

// Fails with one line that names the argument.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_OPTIONS_H_

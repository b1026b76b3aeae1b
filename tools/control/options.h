// The command lines of `allomon ctl`, `list`, `save` and `top`.
#ifndef ALLOMON_TOOLS_CONTROL_OPTIONS_H_
#define ALLOMON_TOOLS_CONTROL_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/options/command_line.h"
#include "tools/options/recording_options.h"

namespace allomon::control {

struct CtlOptions : options::Common {
  uint32_t pid = 0;
  std::string verb;          // start, stop, rate or status
  options::GivenRate rate;   // of start; of rate, always
  uint64_t limit_bytes = 0;  // 0: the process's own
  std::string path;          // of the recording, absolute; "": the process's own
  bool all_children = false;
  double wait_seconds = 10;
};
absl::StatusOr<CtlOptions> ParseCtlOptions(const std::vector<std::string>& args);
const options::Command<CtlOptions>& CtlCommand();

struct ListOptions : options::Common {
  bool clean = false;
};
absl::StatusOr<ListOptions> ParseListOptions(const std::vector<std::string>& args);
const options::Command<ListOptions>& ListCommand();

struct SaveOptions : options::Common {
  uint32_t pid = 0;
  std::string out;
  bool all_children = false;
};
absl::StatusOr<SaveOptions> ParseSaveOptions(const std::vector<std::string>& args);
const options::Command<SaveOptions>& SaveCommand();

struct TopOptions : options::Common {
  uint32_t pid = 0;
  double every_seconds = 2;
  uint64_t times = 0;               // 0: until interrupted
  std::vector<std::string> report;  // passed on to `allomon report`
  bool all_children = false;
};
absl::StatusOr<TopOptions> ParseTopOptions(const std::vector<std::string>& args);
const options::Command<TopOptions>& TopCommand();

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_OPTIONS_H_

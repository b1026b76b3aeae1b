// The command line of `allomon run`.
#ifndef ALLOMON_TOOLS_RUN_OPTIONS_H_
#define ALLOMON_TOOLS_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/options/command_line.h"
#include "tools/options/recording_options.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::run {

// What becomes of blocks to which nothing refers when a process exits.
enum class LeakCheck {
  kNone,    // nobody looks
  kReport,  // they are shown
  kError,   // and the run fails
};

struct Options : options::Common {
  options::GivenRate rate;  // unset: that of ALLOMON_RATE
  std::optional<std::string> seed;
  uint32_t guard_one_in = 0;     // 0: as ALLOMON_GUARD says
  uint32_t in_place_one_in = 0;  // 0: as ALLOMON_IN_PLACE says
  bool no_children = false;
  bool keeps_malloc = false;  // the program's own, for blocks that are not sampled
  bool quiet = false;         // no progress, no closing lines but errors
  uint64_t limit_bytes = recording::kDefaultLimitBytes;
  LeakCheck leaks = LeakCheck::kNone;
  std::vector<std::string> suppressions;  // files, for lost blocks
  std::string out;                        // empty: named by the program
  std::vector<std::string> command;       // the program and its arguments
};

const options::Command<Options>& RunCommand();

// The first argument that is no option is the program; what follows is the program's.  An error is
// one line that names the option and the remedy.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_OPTIONS_H_

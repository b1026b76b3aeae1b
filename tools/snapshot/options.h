// The command line of allomon heap.
#ifndef ALLOMON_TOOLS_SNAPSHOT_OPTIONS_H_
#define ALLOMON_TOOLS_SNAPSHOT_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/options/command_line.h"

namespace allomon::snapshot {

struct Options : options::Common {
  std::string file;
  std::optional<std::string> paths_of;  // a class
  std::optional<uint64_t> object;       // an id
  std::string before;                   // --diff
  size_t top = 15;                      // rows; 0: all
  std::optional<int> width;             // columns; 0: as many as needed
};

const options::Command<Options>& HeapCommand();

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& args);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_OPTIONS_H_

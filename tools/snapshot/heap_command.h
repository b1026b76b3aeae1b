// The command allomon heap.
#ifndef ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_
#define ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/options/command_line.h"
#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::snapshot {

// ---- The command line of allomon heap.

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

const options::CommandText& HeapText();

CommandResult RunHeap(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_

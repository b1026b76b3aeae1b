// The command allomon heap.
#ifndef ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_
#define ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::snapshot {

const options::CommandText& HeapText();

CommandResult RunHeap(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::snapshot

#endif  // ALLOMON_TOOLS_SNAPSHOT_HEAP_COMMAND_H_

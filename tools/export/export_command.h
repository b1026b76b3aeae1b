// `allomon export`: writes a heap profile in another format.
#ifndef ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_
#define ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::interchange {

const options::CommandText& ExportText();

// `args` does not include the command's name.  The status is 0 if the profile was written, 2 on bad
// input, with one line in `err`.  Reads the profile and writes files.  `out` has the text for
// standard output; binary output does not go to a terminal.
CommandResult RunExport(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::interchange

#endif  // ALLOMON_TOOLS_EXPORT_EXPORT_COMMAND_H_

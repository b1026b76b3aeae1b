// `allomon ctl`, `list`, `save` and `top`: commands for recordings of running processes.  README.md
// is the manual.
#ifndef ALLOMON_TOOLS_CONTROL_CONTROL_H_
#define ALLOMON_TOOLS_CONTROL_CONTROL_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon::control {

const options::CommandText& CtlText();
const options::CommandText& ListText();
const options::CommandText& SaveText();
const options::CommandText& TopText();

CommandResult RunCtl(const std::vector<std::string>& args);
CommandResult RunList(const std::vector<std::string>& args);
CommandResult RunSave(const std::vector<std::string>& args);
// Writes to standard output itself.
CommandResult RunTop(const std::vector<std::string>& args);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_CONTROL_H_

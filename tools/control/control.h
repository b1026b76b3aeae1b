// `allomon ctl`, `list`, `save` and `top`: commands for recordings of running processes.  README.md
// is the manual.
#ifndef ALLOMON_TOOLS_CONTROL_CONTROL_H_
#define ALLOMON_TOOLS_CONTROL_CONTROL_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/options/command_text.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

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

// ---- Results of the commands in this folder.

inline constexpr int kBadStatus = 2;
inline constexpr int kUnansweredStatus = 1;

// Returns a line of the command.  Escapes text that others chose, for the terminal.
inline std::string LineOf(const char* command, const std::string& text) {
  return std::string("allomon ") + command + ": " +
         Printable(text, report::ThisTerminal().charset) + "\n";
}

// Puts the name of the command that was given in the place of the one that it has called.
inline void NameCommand(const std::string& called, const std::string& given, std::string* line) {
  const std::string before = "allomon " + called + ": ";
  if (line->rfind(before, 0) == 0) line->replace(0, before.size(), "allomon " + given + ": ");
}

inline CommandResult Failed(const char* command, const absl::Status& status) {
  return {kBadStatus, "", LineOf(command, std::string(status.message()))};
}

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_CONTROL_H_

// Results of the commands in this folder.
#ifndef ALLOMON_TOOLS_CONTROL_RESULT_H_
#define ALLOMON_TOOLS_CONTROL_RESULT_H_

#include <string>

#include "absl/status/status.h"
#include "tools/options/command_result.h"
#include "tools/text/plain_text.h"
#include "tools/text/terminal.h"

namespace allomon::control {

inline constexpr int kBadStatus = 2;
inline constexpr int kUnansweredStatus = 1;

// Returns a line of the command.  Escapes text that others chose, for the terminal.
inline std::string LineOf(const char* command, const std::string& text) {
  return std::string("allomon ") + command + ": " +
         Printable(text, report::ThisTerminal().charset) + "\n";
}

inline CommandResult Failed(const char* command, const absl::Status& status) {
  return {kBadStatus, "", LineOf(command, std::string(status.message()))};
}

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_RESULT_H_

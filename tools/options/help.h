// --help and --version of a command.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_HELP_H_
#define ALLOMON_TOOLS_OPTIONS_HELP_H_

#include <optional>
#include <string>

#include "tools/options/command_line.h"
#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon::options {

// Lines of at most 80 columns.
std::string HelpOf(const CommandText& command);

// "allomon 0.2.0\n".
std::string VersionLine();

// The answer to --help or --version; no value if neither is there.
std::optional<CommandResult> AnswerTo(const Common& options, const CommandText& command);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_HELP_H_

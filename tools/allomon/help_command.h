// `allomon help`: texts that are made of the tables of all commands.
#ifndef ALLOMON_TOOLS_ALLOMON_HELP_COMMAND_H_
#define ALLOMON_TOOLS_ALLOMON_HELP_COMMAND_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon {

const options::CommandText& HelpText();

// The list of all commands.
std::string Usage(const options::ProgramText& program);

// One line, with the command that was probably meant.
CommandResult UnknownCommand(const std::string& name, const options::ProgramText& program);

CommandResult RunHelp(const std::vector<std::string>& args, const options::ProgramText& program);

}  // namespace allomon

#endif  // ALLOMON_TOOLS_ALLOMON_HELP_COMMAND_H_

// Documents that are made of a command's table.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_DOCUMENTS_H_
#define ALLOMON_TOOLS_OPTIONS_DOCUMENTS_H_

#include <optional>
#include <string>

#include "tools/options/command_line.h"
#include "tools/options/command_text.h"

namespace allomon::options {

// ---- Completion of the command line in shells.  Pure functions.

enum class Shell { kBash, kZsh, kFish };

// A file that the shell reads: bash from bash-completion/completions, zsh from a folder of fpath as
// _allomon, fish from vendor_completions.d.  It needs nothing but the shell.
std::string CompletionOf(const ProgramText& program, Shell shell);

// ---- --help and --version of a command.  Pure functions.

// Lines of at most 80 columns.
std::string HelpOf(const CommandText& command);

// "allomon 0.2.0\n".
std::string VersionLine();

// The answer to --help or --version; no value if neither is there.
std::optional<CommandResult> AnswerTo(const Common& options, const CommandText& command);

// ---- Manual pages, in the macros of man(7).  Pure functions.

// allomon-COMMAND(1).
std::string ManPageOf(const CommandText& command, const ProgramText& program);

// allomon(1).
std::string ManPageOf(const ProgramText& program);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_DOCUMENTS_H_

// Completion of the command line in shells.  Pure functions.
#ifndef ALLOMON_TOOLS_OPTIONS_COMPLETION_H_
#define ALLOMON_TOOLS_OPTIONS_COMPLETION_H_

#include <string>

#include "tools/options/command_text.h"

namespace allomon::options {

enum class Shell { kBash, kZsh, kFish };

// A file that the shell reads: bash from bash-completion/completions, zsh from a folder of fpath as
// _allomon, fish from vendor_completions.d.  It needs nothing but the shell.
std::string CompletionOf(const ProgramText& program, Shell shell);

}  // namespace allomon::options

#endif  // ALLOMON_TOOLS_OPTIONS_COMPLETION_H_

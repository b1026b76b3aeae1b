// `allomon symbols`: writes and shows packs, files with the names of code for machines that do not
// have that code's files.
#ifndef ALLOMON_TOOLS_PACK_SYMBOLS_COMMAND_H_
#define ALLOMON_TOOLS_PACK_SYMBOLS_COMMAND_H_

#include <string>
#include <vector>

#include "tools/options/command_text.h"
#include "tools/text/terminal.h"

namespace allomon::pack {

const options::CommandText& SymbolsText();

// `args` does not include the command's name.  The status is 0 if the pack was written or shown, 2
// on bad input, with one line in `err`.  Reads the heap profiles and the files of their code, and
// writes one file, or nothing.
CommandResult RunSymbols(const std::vector<std::string>& args, const report::Terminal& terminal);

}  // namespace allomon::pack

#endif  // ALLOMON_TOOLS_PACK_SYMBOLS_COMMAND_H_

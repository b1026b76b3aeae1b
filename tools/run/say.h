// Lines of `allomon run` on standard error.
#ifndef ALLOMON_TOOLS_RUN_SAY_H_
#define ALLOMON_TOOLS_RUN_SAY_H_

#include <string>

namespace allomon::run {

// Returns the line with the command before it.  Escapes names in it, which others chose, for the
// terminal.
std::string Message(const std::string& line);

void Say(const std::string& line);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_SAY_H_

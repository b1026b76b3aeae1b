// Lines of `allomon run` on standard error.
#ifndef ALLOMON_TOOLS_RUN_SAY_H_
#define ALLOMON_TOOLS_RUN_SAY_H_

#include <string>

namespace allomon::run {

// The line with the command before it.  Names in it, which others chose, are made harmless for the
// terminal.
std::string Message(const std::string& line);

void Say(const std::string& line);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_SAY_H_

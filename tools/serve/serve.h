// `allomon serve`: serves heaps of running processes by HTTP.  README.md is the manual.
#ifndef ALLOMON_TOOLS_SERVE_SERVE_H_
#define ALLOMON_TOOLS_SERVE_SERVE_H_

#include <string>
#include <vector>

#include "tools/options/command_result.h"
#include "tools/options/command_text.h"

namespace allomon::serve {

const options::CommandText& ServeText();

// Serves until SIGINT or SIGTERM.  Writes its address to standard output.
CommandResult RunServe(const std::vector<std::string>& args);

}  // namespace allomon::serve

#endif  // ALLOMON_TOOLS_SERVE_SERVE_H_

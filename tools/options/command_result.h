// The result of a command of `allomon`, for its process to print and to exit with.
#ifndef ALLOMON_TOOLS_OPTIONS_COMMAND_RESULT_H_
#define ALLOMON_TOOLS_OPTIONS_COMMAND_RESULT_H_

#include <string>

namespace allomon {

struct CommandResult {
  int status = 0;   // the exit status of the process
  std::string out;  // for standard output
  std::string err;  // for standard error, in whole lines
};

}  // namespace allomon

#endif  // ALLOMON_TOOLS_OPTIONS_COMMAND_RESULT_H_

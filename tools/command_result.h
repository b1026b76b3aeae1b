// What a command of `allomon` leaves for its process to do.
#ifndef ALLOMON_TOOLS_COMMAND_RESULT_H_
#define ALLOMON_TOOLS_COMMAND_RESULT_H_

#include <string>

namespace allomon {

struct CommandResult {
  int status = 0;   // of the process
  std::string out;  // for standard output
  std::string err;  // for standard error: whole lines
};

}  // namespace allomon

#endif  // ALLOMON_TOOLS_COMMAND_RESULT_H_

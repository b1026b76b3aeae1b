// The program that `allomon run` starts.
#ifndef ALLOMON_TOOLS_RUN_CHILD_H_
#define ALLOMON_TOOLS_RUN_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/run/signals.h"

namespace allomon::run {

struct StartedChild {
  pid_t pid = -1;
  int error = 0;  // the errno that kept the program from being executed; 0: it runs
};

// Variables that the program gets beside those of this process; without a value: it does not.
struct Variable {
  std::string name;
  std::string value;
  bool is_set = true;
};
using Variables = std::vector<Variable>;

// Executes `command`, found as a shell does, in a child of this process and of its process group,
// with the signals that this process was started with.  Of the variables, "%p" as a whole value is
// the child's process number.
StartedChild StartChild(const std::vector<std::string>& command, const Variables& variables,
                        const Signals& signals);

// The status of a program that could not be executed, as shells and env have it: 127 if it is not
// there, else 126.
int StatusOfError(int error);

enum class ChildState { kRuns, kStopped, kEnded };

// What became of the child since it was last asked.
struct ChildChange {
  ChildState state = ChildState::kRuns;
  int signal = 0;  // that stopped or ended it
  int status = 0;  // that it ended with; 128 + signal if that ended it
};
ChildChange AskForChild(pid_t pid);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_CHILD_H_

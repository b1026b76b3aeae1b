// The program that `allomon run` starts.
#ifndef ALLOMON_TOOLS_RUN_CHILD_H_
#define ALLOMON_TOOLS_RUN_CHILD_H_

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/run/memory_file.h"
#include "tools/run/options.h"
#include "tools/run/signals.h"

namespace allomon::run {

struct StartedChild {
  pid_t pid = -1;
  int error = 0;  // the errno of the failed execution; 0: the program runs
};

// A variable that the program gets in addition to those of this process.  Without a value it is
// removed.
struct Variable {
  std::string name;
  std::string value;
  bool is_set = true;
};
using Variables = std::vector<Variable>;

// Executes `command`, found as a shell finds it, in a child of this process and of its process
// group.  The child has the signals that this process was started with.  A variable's value "%p"
// becomes the child's process number.
StartedChild StartChild(const std::vector<std::string>& command, const Variables& variables,
                        const Signals& signals);

// Returns the status that shells and env give to a program that could not be executed: 127 if it
// does not exist, else 126.
int StatusOfError(int error);

enum class ChildState { kRuns, kStopped, kEnded };

// The change of the child's state since the last call.
struct ChildChange {
  ChildState state = ChildState::kRuns;
  int signal = 0;  // the signal that stopped or ended the child
  int status = 0;  // exit status of the child; 128 + signal if a signal ended it
};
ChildChange AskForChild(pid_t pid);

// ---- The environment in which a program records itself into a memory file.

// Returns the variables that the program gets in addition to this process's own.  LD_PRELOAD and
// ALLOMON_ variables of this process stay, except those that the options or `allomon run` set.  If
// a service manager's variable names this process, the program gets its own number there.
Variables ChildVariables(const Options& options, const std::string& library,
                         const MemoryFile& memory);

// Whether the environment asks for flat profiles beside the recording.
bool WritesProfiles();

// ---- Finds the library that `allomon run` preloads.

// Returns a value for LD_PRELOAD: the path of liballomon.so, or of liballomon-host.so with which
// the program keeps its malloc.  ALLOMON_LIBRARY may name the library.  Otherwise it is the one
// that belongs to the command at `command_path`, installed or in Bazel's tree.  If the loader would
// not take the real path as a whole, it is a path under /proc, valid until this process ends.  An
// error is one line with the remedy.
absl::StatusOr<std::string> FindLibrary(const std::string& command_path, bool keeps_malloc);

// Returns the path of the running command; empty without /proc.
std::string ThisCommand();

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_CHILD_H_

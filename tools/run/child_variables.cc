#include "tools/run/child_variables.h"

#include <unistd.h>

#include <cstdlib>

namespace allomon::run {
namespace {

// First, since a malloc that is preloaded before ours would be the program's.
std::string Preload(const std::string& library) {
  const char* const others = getenv("LD_PRELOAD");
  return others == nullptr || *others == '\0' ? library : library + ":" + others;
}

// Says that this process is meant: socket activation, watchdogs and the journal go by it.
bool NamesThisProcess(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr && value == std::to_string(getpid());
}

// The program is not to notice that `allomon run` is there.
void AddServiceVariables(Variables* variables) {
  for (const char* const name : {"LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"}) {
    if (NamesThisProcess(name)) variables->push_back({name, "%p"});
  }
  // The inode of a descriptor of this process, which goes with LISTEN_PID.
  if (NamesThisProcess("LISTEN_PID")) variables->push_back({"LISTEN_PIDFDID", "", false});
}

}  // namespace

Variables ChildVariables(const Options& options, const std::string& library,
                         const MemoryFile& memory) {
  Variables variables = {
      {"LD_PRELOAD", Preload(library)},
      {"ALLOMON_RECORD", memory.Path()},
      {"ALLOMON_RECORD_INODE", memory.Id()},
      {"ALLOMON_RECORD_ONLY", "%p", !options.children},
      {"ALLOMON_RECORD_LIMIT", "", false},  // the memory file's header says it
      {"ALLOMON_LIBRARY", "", false},
      {"ALLOMON_MMAP", "", false},  // each process would say that a recording has no mappings
  };
  if (options.rate) variables.push_back({"ALLOMON_RATE", *options.rate});
  if (options.seed) variables.push_back({"ALLOMON_SEED", *options.seed});
  if (options.guard_one_in > 0) {
    variables.push_back({"ALLOMON_GUARD", "1/" + std::to_string(options.guard_one_in)});
  }
  AddServiceVariables(&variables);
  return variables;
}

}  // namespace allomon::run

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "tools/run/child.h"

namespace allomon::run {
namespace {

// Puts the library first: the program would use a malloc that is preloaded before it.
std::string Preload(const std::string& library) {
  const char* const others = getenv("LD_PRELOAD");
  return others == nullptr || *others == '\0' ? library : library + ":" + others;
}

// True if the variable has this process's number, by which socket activation, watchdogs and the
// journal find it.
bool NamesThisProcess(const char* name) {
  const char* const value = getenv(name);
  return value != nullptr && value == std::to_string(getpid());
}

// Replaces this process's number by the program's, so that the program does not notice `allomon
// run`.
void AddServiceVariables(Variables* variables) {
  for (const char* const name : {"LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"}) {
    if (NamesThisProcess(name)) variables->push_back({name, "%p"});
  }
  // LISTEN_PIDFDID belongs to LISTEN_PID, and identifies this process.
  if (NamesThisProcess("LISTEN_PID")) variables->push_back({"LISTEN_PIDFDID", "", false});
}

}  // namespace

bool WritesProfiles() {
  const char* const profile = getenv("ALLOMON_PROFILE");
  return profile != nullptr && strcmp(profile, "idle") != 0 && strcmp(profile, "no") != 0;
}

Variables ChildVariables(const Options& options, const std::string& library,
                         const MemoryFile& memory) {
  Variables variables = {
      {"LD_PRELOAD", Preload(library)},
      {"ALLOMON_RECORD", memory.Path()},
      {"ALLOMON_RECORD_INODE", memory.Id()},
      {"ALLOMON_RECORD_ONLY", "%p", options.no_children},
      {"ALLOMON_LEAKS", "exit", options.leaks != LeakCheck::kNone},
      {"ALLOMON_LEAKS_SUPPRESSIONS", "", false},
      {"ALLOMON_RECORD_LIMIT", "", false},  // the memory file's header has the limit
      {"ALLOMON_LIBRARY", "", false},
      {"ALLOMON_MMAP", "", false},  // each process would say that a recording has no mappings
  };
  if (options.rate.samples_per_word) variables.push_back({"ALLOMON_RATE", options.rate.text});
  if (options.seed) variables.push_back({"ALLOMON_SEED", *options.seed});
  if (options.guard_one_in > 0) {
    variables.push_back({"ALLOMON_GUARD", "1/" + std::to_string(options.guard_one_in)});
  }
  if (options.in_place_one_in > 0) {
    variables.push_back({"ALLOMON_IN_PLACE", "1/" + std::to_string(options.in_place_one_in)});
  }
  // Each process would say that it waits for no signal.
  if (!WritesProfiles()) variables.push_back({"ALLOMON_DUMP", "", false});
  // A program that idles would record when it is asked to.
  const char* const profile = getenv("ALLOMON_PROFILE");
  if (profile != nullptr && strcmp(profile, "idle") == 0) {
    variables.push_back({"ALLOMON_PROFILE", "", false});
  }
  AddServiceVariables(&variables);
  return variables;
}

}  // namespace allomon::run

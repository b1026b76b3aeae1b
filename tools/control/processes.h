// What the kernel says of the processes of this machine.
//
// All of it is out of date at once: a process may end, and its id be given to another.
#ifndef ALLOMON_TOOLS_CONTROL_PROCESSES_H_
#define ALLOMON_TOOLS_CONTROL_PROCESSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace allomon::control {

struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t pid_inside = 0;     // as the process sees itself: another one in a container
  uint64_t pid_namespace = 0;  // control_names.h; 0: this user may not ask
  uint32_t parent_pid = 0;
  uint32_t user = 0;
  bool has_filter = false;        // a seccomp filter, which may forbid it to open a file
  uint64_t started_at_nanos = 0;  // CLOCK_BOOTTIME
  std::string name;
};

// nullopt: there is none.
std::optional<ProcessFacts> FactsOf(uint32_t pid);

// The calling process's pid namespace; 0: /proc does not say.
uint64_t OwnPidNamespace();

std::vector<uint32_t> AllProcesses();

// All of which the process is a parent, or a parent's parent, and so on; without itself.
std::vector<uint32_t> DescendantsOf(uint32_t pid);

// Whether it has a file of that name mapped; nullopt if it may not be asked.
std::optional<bool> HasMapped(uint32_t pid, const std::string& part_of_path);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_PROCESSES_H_

// Reads facts about the machine's processes from the kernel.
//
// They may be out of date at once: a process may end, and another one may get its id.
#ifndef ALLOMON_TOOLS_CONTROL_PROCESSES_H_
#define ALLOMON_TOOLS_CONTROL_PROCESSES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/process/places.h"

namespace allomon::control {

struct ProcessFacts {
  uint32_t pid = 0;
  uint32_t pid_inside = 0;     // the id in the process's own namespace, as in a container
  uint64_t pid_namespace = 0;  // control_names.h; 0: this user may not read it
  uint32_t parent_pid = 0;
  uint32_t user = 0;
  bool has_ended = false;         // a zombie, which its parent has not waited for
  bool has_filter = false;        // a seccomp filter, which may forbid opening a file
  uint64_t started_at_nanos = 0;  // CLOCK_BOOTTIME
  std::string name;
};

// nullopt if no process has this id.
std::optional<ProcessFacts> FactsOf(uint32_t pid);

// Returns the calling process's pid namespace; 0 if /proc does not have it.
uint64_t OwnPidNamespace();

// Returns the children of the process, their children, and so on, without the process itself.
std::vector<uint32_t> DescendantsOf(uint32_t pid);

// True if the process has a file with that part of its path mapped; nullopt if that may not be
// read.
std::optional<bool> HasMapped(uint32_t pid, const std::string& part_of_path);

// ---- Finds the recording of a process.

struct FoundRecording {
  std::string path;  // by which this process opens it
  // A process that takes no requests, since it records from its start on by a variable or for
  // `allomon run`: the file may have other processes, too.
  process::Ids running = {};
};
// Finds the current recording, or the last one.  Works also for a process that has ended, if its
// recording had the default name.
absl::StatusOr<FoundRecording> FindRecording(uint32_t pid);

// Returns the same as what load::LoadHeapProfile() takes: a path, or the folder of the process.
absl::StatusOr<std::string> RecordingOf(uint32_t pid);

// Returns the recording of the process.  With `with_descendants`, returns those of all live
// processes that it has started, too.  The result has at least one path.
absl::StatusOr<std::vector<std::string>> RecordingsOf(uint32_t pid, bool with_descendants);

}  // namespace allomon::control

#endif  // ALLOMON_TOOLS_CONTROL_PROCESSES_H_

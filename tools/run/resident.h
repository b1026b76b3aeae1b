// Resident memory of the recorded processes, read from outside: they make no system call for it,
// since a filter of theirs may kill.
#ifndef ALLOMON_TOOLS_RUN_RESIDENT_H_
#define ALLOMON_TOOLS_RUN_RESIDENT_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/run/memory_file.h"
#include "tracker/formats/recording.h"

namespace allomon::run {

// One thread.  `memory` belongs to the caller and outlives this.
class ResidentMemories {
 public:
  explicit ResidentMemories(const MemoryFile& memory) : memory_(memory) {}

  // Reads the figures of each process.  Two recorded processes may have one number, in different
  // pid namespaces: if they run the same program, neither has figures.  Cost: some 30 us for each,
  // and once for each the lines of its maps.
  void Look();

  // Call when a process has ended just now: its last program ran until then.
  void NoteEnd(pid_t pid);

  // Returns when the process was last seen running, in nanoseconds since its start; 0: never.
  uint64_t SeenNanos(const recording::Process& process) const;

  // Gives each profile of one process the figures that were read last.
  void AddTo(std::vector<heap::HeapProfile>* profiles) const;

 private:
  struct Known {
    std::optional<bool> is_ours;  // whether the process of that number has mapped the file
    heap::ProcessMemory memory;
    double seen_seconds = 0;  // since its start; 0: never
  };

  bool IsOurs(const recording::ProcessTotals& process, Known* known) const;

  const MemoryFile& memory_;
  // By pid and start: a process that executes another program begins anew under its number.
  std::map<std::pair<uint64_t, int64_t>, Known> of_process_;
};

// The figures in the text of /proc/PID/status.  False if it has none: the process has ended.
bool ParseResident(const std::string& status, heap::ProcessMemory* memory);

}  // namespace allomon::run

#endif  // ALLOMON_TOOLS_RUN_RESIDENT_H_

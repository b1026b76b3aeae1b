// The memory that another process may still be given.
#ifndef ALLOMON_TOOLS_PROCESS_MEMORY_ROOM_H_
#define ALLOMON_TOOLS_PROCESS_MEMORY_ROOM_H_

#include <cstdint>
#include <string>

namespace allomon::process {

// Returns the bytes that the machine has left (MemAvailable of /proc/meminfo); UINT64_MAX if that
// is not known.
uint64_t MachineRoom();

// Returns the bytes that the process may be given before the machine or a limit of its cgroup, or
// of one above, is reached: version 1 or 2, by the paths that this process sees.  0 if its cgroup
// is not visible from here.  File pages that the kernel would drop first (inactive_file) are room.
// Cost: some ten files of /proc and /sys.
uint64_t MemoryRoom(uint32_t pid);

// `root` is a folder that stands for "/".
uint64_t MemoryRoomForTesting(const std::string& root, uint32_t pid);

}  // namespace allomon::process

#endif  // ALLOMON_TOOLS_PROCESS_MEMORY_ROOM_H_

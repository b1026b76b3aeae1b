#include "tools/process/memory_room.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace allomon::process {
namespace {

// False if the file cannot be read, or holds a word ("max").
bool ReadNumber(const std::string& path, uint64_t* number) {
  std::ifstream file(path);
  return static_cast<bool>(file >> *number);
}

uint64_t AvailableBytes(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("MemAvailable:", 0) == 0) return strtoull(line.c_str() + 13, nullptr, 10) << 10;
  }
  return UINT64_MAX;
}

struct Names {
  const char* limit;
  const char* used;
  const char* inactive;  // a key of memory.stat
};

// Pages of files that the kernel would drop before anything else, in a cgroup and below it.
uint64_t InactiveBytes(const std::string& folder, const Names& names) {
  std::ifstream file(folder + "/memory.stat");
  std::string key;
  for (uint64_t bytes = 0; file >> key >> bytes;) {
    if (key == names.inactive) return bytes;
  }
  return 0;
}

// The least room of a cgroup and of those above, up to where they are mounted.
uint64_t RoomBelow(const std::string& mount, std::string path, const Names& names) {
  uint64_t room = UINT64_MAX;
  for (;;) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    uint64_t limit = 0, used = 0;
    if (ReadNumber(mount + path + names.limit, &limit) &&
        ReadNumber(mount + path + names.used, &used)) {
      used -= std::min(used, InactiveBytes(mount + path, names));
      room = std::min(room, limit - std::min(used, limit));
    }
    if (path.empty()) return room;
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

uint64_t MachineRoom() { return AvailableBytes(""); }

// "number:controllers:path"; version 2 has no controllers there.
uint64_t MemoryRoomForTesting(const std::string& root, uint32_t pid) {
  constexpr Names kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                               "total_inactive_file"};
  constexpr Names kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};
  uint64_t room = AvailableBytes(root);
  std::ifstream file(root + "/proc/" + std::to_string(pid) + "/cgroup");
  if (!file) return 0;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    // A process of a namespace that is not below this one's.
    if (path.find("/..") != std::string::npos) return 0;
    if (controllers == ",,") {
      for (const char* const mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        room = std::min(room, RoomBelow(root + mount, path, kVersion2));
      }
    } else if (controllers.find(",memory,") != std::string::npos) {
      room = std::min(room, RoomBelow(root + "/sys/fs/cgroup/memory", path, kVersion1));
    }
  }
  return room;
}

uint64_t MemoryRoom(uint32_t pid) { return MemoryRoomForTesting("", pid); }

}  // namespace allomon::process

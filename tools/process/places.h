// Places of another process: its id, and the paths by which this process opens its files.
//
// A process may have a pid namespace of its own, in which it has another id, and a mount namespace
// or a root folder of its own, in which its files have other names.  Both hold for containers.
//
// What is read may be out of date at once: a process may end, and another one may get its id.
#ifndef ALLOMON_TOOLS_PROCESS_PLACES_H_
#define ALLOMON_TOOLS_PROCESS_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace allomon::process {

// ---- Ids.  All are of this process's pid namespace, unless it says "inside".

std::vector<uint32_t> AllIds();

// The processes that this one has started, and that still have it as their parent.
std::vector<uint32_t> ChildrenOf(uint32_t pid);

// The id of the process in its own pid namespace; `pid` if that is not known.
uint32_t IdInside(uint32_t pid);

// A process as it described itself, in a recording for instance.
struct Description {
  uint32_t id_inside = 0;
  uint64_t start_realtime_nanos = 0;  // it began before that
  std::vector<uint64_t> files_begin;  // addresses at which it has files mapped: modules of code
};

// A process that is meant by its id.
struct Ids {
  uint32_t pid = 0;     // 0: none
  uint32_t inside = 0;  // the same in its own pid namespace
};
Ids IdsOf(uint32_t pid);

// Returns how many of these files the process has mapped at the same addresses, of which the loader
// chooses most at random.  nullopt: this user may not read its maps, or there is no such process.
std::optional<size_t> CountMapped(uint32_t pid, const std::vector<uint64_t>& files_begin);

// Finds described processes that still run.  Several containers have a process 1 each, which are
// told apart by the addresses of their modules.  Cost: two files of /proc for a process of this pid
// namespace; for the first one of another, one file for each process of the machine.
class Running {
 public:
  // 0: it has ended, or it is not visible from here, or this user may not read its maps.
  uint32_t Find(const Description& process);

 private:
  std::optional<std::multimap<uint32_t, uint32_t>> by_id_inside_;
};

// ---- Paths.

// The folder in /proc of the process's memory: "/proc/PID", or that of another thread if the first
// one has ended (pthread_exit) and shows no memory.
std::string MemoryFolderOf(uint32_t pid);

// "/proc/PID/root", the root folder as the process sees it, or that of another thread.
std::string RootOf(uint32_t pid);
// The same for a path below "/proc/PID/"; empty for others.
std::string RootOfPath(const std::string& path);

// The path by which this process opens a file that the other one names `path`: the same path if
// both see the same file there.
std::string PathFromHere(uint32_t pid, const std::string& path);

// The paths by which this process may open a file that is mapped at `begin`.  `path` is its name by
// the process itself or by its maps, which differ below another root folder.  The names come first,
// since debug files are beside them; callers compare what is there with what they know of the file.
struct MappedPaths {
  std::vector<std::string> by_name;
  std::string by_address;  // the mapped file itself, even without a name; root alone may open it
};
MappedPaths PathsOfMapped(uint32_t pid, uint64_t begin, const std::string& path);

// Returns the paths by which this process may open the files that the other one has mapped shared
// and writable, in the order of their addresses.  Some paths lead to no file.  A file of memory has
// no name: the open files of the process's parent, its parent, and so on are searched for it.
// nullopt: this user may not read the process's maps, or there is no such process.
std::optional<std::vector<std::string>> PathsOfShared(uint32_t pid);

}  // namespace allomon::process

#endif  // ALLOMON_TOOLS_PROCESS_PLACES_H_

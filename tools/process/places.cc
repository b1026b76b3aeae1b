#include "tools/process/places.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

namespace allomon::process {
namespace {

std::string FolderOf(uint32_t pid) { return "/proc/" + std::to_string(pid); }

// 0 unless the text is a number.
uint32_t NumberOf(const char* text) {
  char* end = nullptr;
  const unsigned long number = strtoul(text, &end, 10);
  return *text < '0' || *text > '9' || *end != '\0' || number > UINT32_MAX
             ? 0
             : static_cast<uint32_t>(number);
}

// The names in a folder that are numbers, in their order.
std::vector<uint32_t> NumbersIn(const std::string& path) {
  std::vector<uint32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), closedir);
  while (const dirent* const entry = folder ? readdir(folder.get()) : nullptr) {
    if (const uint32_t number = NumberOf(entry->d_name)) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// A mapping of a file, by a line of /proc/PID/maps (proc(5)).
struct MappedFile {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_shared = false;  // and writable
  uint64_t inode = 0;
  std::string path;
};

// nullopt: there are no maps that this user may read.
std::optional<std::vector<MappedFile>> ReadMaps(uint32_t pid) {
  std::vector<MappedFile> files;
  std::ifstream maps(MemoryFolderOf(pid) + "/maps");
  bool has_lines = false;
  for (std::string line; std::getline(maps, line); has_lines = true) {
    const size_t path = line.find('/');
    MappedFile file;
    char rights[5] = "";
    if (path == std::string::npos ||
        sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %" SCNu64, &file.begin, &file.end,
               rights, &file.inode) != 4) {
      continue;
    }
    file.is_shared = rights[1] == 'w' && rights[3] == 's';
    file.path = line.substr(path);
    files.push_back(std::move(file));
  }
  if (!has_lines) return std::nullopt;
  return files;
}

std::vector<MappedFile> MappedFilesOf(uint32_t pid) {
  return ReadMaps(pid).value_or(std::vector<MappedFile>());
}

const MappedFile* FileAt(const std::vector<MappedFile>& files, uint64_t begin) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [begin](const MappedFile& file) { return file.begin == begin; });
  return found == files.end() ? nullptr : &*found;
}

int64_t NanosOf(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

// Field 22 of /proc/PID/stat (proc(5)), in ticks since the machine's start, as time since 1970.
// The name before it may have any character.
int64_t StartNanos(uint32_t pid) {
  std::ifstream file(FolderOf(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  size_t at = text.rfind(')');
  constexpr int kFieldsAfterName = 20;
  for (int i = 0; i < kFieldsAfterName && at != std::string::npos; ++i) at = text.find(' ', at + 1);
  if (at == std::string::npos) return 0;
  const int64_t ticks = strtoll(text.c_str() + at, nullptr, 10);
  return NanosOf(CLOCK_REALTIME) - NanosOf(CLOCK_BOOTTIME) +
         ticks * (1'000'000'000 / sysconf(_SC_CLK_TCK));
}

// A module that was loaded later, or is gone, may be one of the others; half of them say enough,
// since the loader places each at random.
bool Fits(uint32_t pid, const Description& process) {
  if (process.files_begin.empty() || IdInside(pid) != process.id_inside) return false;
  // Both clocks are read one after the other, and a start is known to a tick.
  constexpr int64_t kMostEarlierNanos = 1'000'000'000;
  if (StartNanos(pid) - kMostEarlierNanos > static_cast<int64_t>(process.start_realtime_nanos)) {
    return false;
  }
  return CountMapped(pid, process.files_begin).value_or(0) * 2 > process.files_begin.size();
}

// The root folder of the process as its mounts name it; empty if this user may not read that.
std::string RealRootOf(uint32_t pid) {
  char path[PATH_MAX];
  const ssize_t length = readlink(RootOf(pid).c_str(), path, sizeof(path));
  return length <= 0 ? "" : std::string(path, static_cast<size_t>(length));
}

bool IsSameFile(const std::string& a, const std::string& b) {
  struct stat of_a, of_b;
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

// Returns 0 if the parent is not visible from here.
uint32_t ParentOf(uint32_t pid) {
  std::ifstream status(FolderOf(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("PPid:", 0) == 0) return NumberOf(line.c_str() + line.find_last_of("\t ") + 1);
  }
  return 0;
}

// Returns the path by which an ancestor of the process has the file of memory open, or "".
std::string OpenFileOfAncestor(uint32_t pid, const MappedFile& file) {
  for (uint32_t other = ParentOf(pid); other != 0; other = ParentOf(other)) {
    const std::string folder = FolderOf(other) + "/fd/";
    for (const uint32_t fd : NumbersIn(folder)) {
      const std::string path = folder + std::to_string(fd);
      char name[PATH_MAX];
      const ssize_t length = readlink(path.c_str(), name, sizeof(name));
      struct stat status;
      if (length > 0 && file.path.compare(0, std::string::npos, name, length) == 0 &&
          stat(path.c_str(), &status) == 0 && status.st_ino == file.inode) {
        return path;
      }
    }
  }
  return "";
}

}  // namespace

std::vector<uint32_t> AllIds() { return NumbersIn("/proc"); }

std::vector<uint32_t> ChildrenOf(uint32_t pid) {
  std::vector<uint32_t> children;
  for (const uint32_t other : AllIds()) {
    if (ParentOf(other) == pid) children.push_back(other);
  }
  return children;
}

// "NSpid:  OURS ... ITS_OWN"
uint32_t IdInside(uint32_t pid) {
  std::ifstream status(FolderOf(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    const uint32_t inside = NumberOf(line.c_str() + line.find_last_of("\t ") + 1);
    return inside == 0 ? pid : inside;
  }
  return pid;
}

Ids IdsOf(uint32_t pid) { return {pid, IdInside(pid)}; }

std::optional<size_t> CountMapped(uint32_t pid, const std::vector<uint64_t>& files_begin) {
  const auto files = ReadMaps(pid);
  if (!files.has_value()) return std::nullopt;
  const auto found =
      std::count_if(files_begin.begin(), files_begin.end(),
                    [&files](uint64_t begin) { return FileAt(*files, begin) != nullptr; });
  return static_cast<size_t>(found);
}

uint32_t Running::Find(const Description& process) {
  if (process.id_inside == 0) return 0;
  if (Fits(process.id_inside, process)) return process.id_inside;
  if (!by_id_inside_.has_value()) {
    by_id_inside_.emplace();
    for (const uint32_t pid : AllIds()) by_id_inside_->emplace(IdInside(pid), pid);
  }
  const auto [begin, end] = by_id_inside_->equal_range(process.id_inside);
  for (auto at = begin; at != end; ++at) {
    if (Fits(at->second, process)) return at->second;
  }
  return 0;
}

std::string MemoryFolderOf(uint32_t pid) {
  const auto has_memory = [](const std::string& folder) {
    std::ifstream maps(folder + "/maps");
    return maps.get() != std::ifstream::traits_type::eof();
  };
  const std::string folder = FolderOf(pid);
  if (has_memory(folder)) return folder;
  for (const uint32_t thread : NumbersIn(folder + "/task")) {
    const std::string of_thread = FolderOf(thread);
    if (thread != pid && has_memory(of_thread)) return of_thread;
  }
  return folder;
}

std::string RootOf(uint32_t pid) { return MemoryFolderOf(pid) + "/root"; }

std::string RootOfPath(const std::string& path) {
  constexpr char kProc[] = "/proc/";
  constexpr size_t kProcLength = sizeof(kProc) - 1;
  const size_t slash = path.find('/', kProcLength);
  if (path.rfind(kProc, 0) != 0 || slash == std::string::npos) return "";
  const uint32_t pid = NumberOf(path.substr(kProcLength, slash - kProcLength).c_str());
  return pid == 0 ? "" : RootOf(pid);
}

std::string PathFromHere(uint32_t pid, const std::string& path) {
  const std::string from_here = RootOf(pid) + path;
  return IsSameFile(from_here, path) ? path : from_here;
}

MappedPaths PathsOfMapped(uint32_t pid, uint64_t begin, const std::string& path) {
  MappedPaths paths;
  const std::vector<MappedFile> files = MappedFilesOf(pid);
  const MappedFile* const file = FileAt(files, begin);
  const auto add = [&paths](const std::string& name) {
    const bool is_known =
        std::find(paths.by_name.begin(), paths.by_name.end(), name) != paths.by_name.end();
    if (!is_known) paths.by_name.push_back(name);
  };
  if (!path.empty() && path[0] == '/') add(RootOf(pid) + path);
  if (file == nullptr) return paths;
  // Below a root folder that chroot(2) has set, maps have the names from the reader's root on.
  add(file->path);
  add(RootOf(pid) + file->path);
  const std::string root = RealRootOf(pid);
  if (root.size() > 1 && file->path.rfind(root + "/", 0) == 0) {
    add(RootOf(pid) + file->path.substr(root.size()));
  }
  char address[64];
  std::snprintf(address, sizeof(address), "/map_files/%" PRIx64 "-%" PRIx64, file->begin,
                file->end);
  paths.by_address = MemoryFolderOf(pid) + address;
  return paths;
}

std::optional<std::vector<std::string>> PathsOfShared(uint32_t pid) {
  std::vector<std::string> paths;
  const auto files = ReadMaps(pid);
  if (!files.has_value()) return std::nullopt;
  for (const MappedFile& file : *files) {
    if (!file.is_shared) continue;
    if (file.path.rfind("/memfd:", 0) == 0) {
      const std::string path = OpenFileOfAncestor(pid, file);
      if (!path.empty()) paths.push_back(path);
    }
    const MappedPaths mapped = PathsOfMapped(pid, file.begin, file.path);
    paths.insert(paths.end(), mapped.by_name.begin(), mapped.by_name.end());
    paths.push_back(mapped.by_address);
  }
  return paths;
}

}  // namespace allomon::process

#include "tools/control/leftovers.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "tools/control/processes.h"
#include "tools/options/values.h"
#include "tracker/formats/control_layout.h"

namespace allomon::control {
namespace {

// The process id between the prefix and one of the suffixes; false if it is another file's name.
bool ParseName(std::string_view name, Leftover* leftover) {
  const std::string_view prefix = kNamePrefix + 1;  // without the slash
  if (name.substr(0, prefix.size()) != prefix) return false;
  name.remove_prefix(prefix.size());
  for (const std::string_view suffix : {kNameSuffix, kRecordingSuffix}) {
    if (name.size() <= suffix.size() || name.substr(name.size() - suffix.size()) != suffix) {
      continue;
    }
    leftover->is_recording = suffix == kRecordingSuffix;
    name.remove_suffix(suffix.size());
    return options::ParseNumber(name, &leftover->pid);
  }
  return false;
}

bool IsOurs(const std::string& path) {
  struct stat file;
  return lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid();
}

// A process with that id which has not made the file, since it is younger, is another one.
bool IsOfProcess(const std::string& path, const ProcessFacts& process) {
  return HasMapped(process.pid, path).value_or(true);
}

void AddFrom(const char* folder, std::vector<Leftover>* found) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder), closedir);
  if (entries == nullptr) return;
  while (const dirent* const entry = readdir(entries.get())) {
    Leftover leftover;
    if (!ParseName(entry->d_name, &leftover)) continue;
    leftover.path = std::string(folder) + "/" + entry->d_name;
    if (!IsOurs(leftover.path)) continue;
    const auto process = FactsOf(leftover.pid);
    // The recording of a process that was asked to stop is mapped no more.
    const bool is_of_process =
        process && (leftover.is_recording || IsOfProcess(leftover.path, *process));
    if (!is_of_process) found->push_back(leftover);
  }
}

}  // namespace

std::vector<Leftover> Leftovers() {
  std::vector<Leftover> found;
  for (const char* const folder : kFolders) AddFrom(folder, &found);
  std::sort(found.begin(), found.end(),
            [](const Leftover& a, const Leftover& b) { return a.path < b.path; });
  return found;
}

}  // namespace allomon::control

#include "tools/control/leftovers.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "tools/control/processes.h"
#include "tools/options/values.h"
#include "tracker/formats/control_names.h"

namespace allomon::control {
namespace {

struct Found {
  Leftover leftover;
  uint64_t pid_namespace = kFirstPidNamespace;
};

bool ParseNumbers(std::string_view text, Found* found) {
  const size_t dot = text.find('.');
  return options::ParseNumber(text.substr(0, dot), &found->leftover.pid) &&
         (dot == text.npos || options::ParseNumber(text.substr(dot + 1), &found->pid_namespace));
}

// Parses the numbers between the prefix and one of the suffixes.  False if the name is of another
// file.
bool ParseName(std::string_view name, Found* found) {
  const std::string_view prefix = kNamePrefix + 1;  // without the slash
  if (name.substr(0, prefix.size()) != prefix) return false;
  name.remove_prefix(prefix.size());
  for (const std::string_view suffix : {kNameSuffix, kRecordingSuffix}) {
    if (name.size() <= suffix.size() || name.substr(name.size() - suffix.size()) != suffix) {
      continue;
    }
    found->leftover.is_recording = suffix == kRecordingSuffix;
    name.remove_suffix(suffix.size());
    return ParseNumbers(name, found);
  }
  return false;
}

bool IsOurs(const std::string& path) {
  struct stat file;
  return lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == geteuid();
}

// The processes that this process can see: those of its own pid namespace, and of namespaces below.
class Processes {
 public:
  Processes() {
    for (const uint32_t pid : AllProcesses()) {
      const auto facts = FactsOf(pid);
      if (facts.has_value() && !facts->has_ended) all_.push_back(*facts);
    }
  }

  // True if the process that made the file has certainly ended.  A process of a namespace that is
  // not visible may still run.
  bool HaveEnded(const Found& file, const std::string& name) const {
    const auto is_in = [&file](const ProcessFacts& process) {
      return process.pid_namespace == file.pid_namespace;
    };
    for (const ProcessFacts& process : all_) {
      const bool has_id = process.pid_inside == file.leftover.pid;
      if (has_id && (is_in(process) || process.pid_namespace == 0) && Has(process, file, name)) {
        return false;
      }
    }
    return own_ == kFirstPidNamespace || own_ == file.pid_namespace ||
           std::any_of(all_.begin(), all_.end(), is_in);
  }

 private:
  // True if the process may have made the file.  A control page must be mapped: a younger process
  // with the same id has not mapped it.  A recording need not be mapped, because it is not after a
  // request to stop.
  static bool Has(const ProcessFacts& process, const Found& file, const std::string& name) {
    return file.leftover.is_recording || HasMapped(process.pid, name).value_or(true);
  }

  const uint64_t own_ = OwnPidNamespace();
  std::vector<ProcessFacts> all_;
};

void AddFrom(const char* folder, const Processes& processes, std::vector<Leftover>* leftovers) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder), closedir);
  if (entries == nullptr) return;
  while (const dirent* const entry = readdir(entries.get())) {
    Found found;
    if (!ParseName(entry->d_name, &found)) continue;
    const std::string name = std::string("/") + entry->d_name;
    found.leftover.path = folder + name;
    if (!IsOurs(found.leftover.path)) continue;
    if (processes.HaveEnded(found, name)) leftovers->push_back(found.leftover);
  }
}

}  // namespace

std::vector<Leftover> Leftovers() {
  std::vector<Leftover> found;
  const Processes processes;
  for (const char* const folder : kFolders) AddFrom(folder, processes, &found);
  std::sort(found.begin(), found.end(),
            [](const Leftover& a, const Leftover& b) { return a.path < b.path; });
  return found;
}

}  // namespace allomon::control

#include "tools/control/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "tools/control/processes.h"
#include "tools/options/values.h"
#include "tools/process/places.h"
#include "tracker/formats/control_names.h"
#include "tracker/formats/loss_note.h"

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
    for (const uint32_t pid : process::AllIds()) {
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

struct ReadNote {
  FoundLossNote found;
  int64_t seconds;
};

bool IsNameOfNote(std::string_view name) {
  const std::string_view prefix = kLossNotePrefix + 1;  // without the slash
  const std::string_view suffix = kLossNoteSuffix;
  return name.size() > prefix.size() + suffix.size() && name.substr(0, prefix.size()) == prefix &&
         name.substr(name.size() - suffix.size()) == suffix;
}

template <size_t kRoom>
std::string TextOf(const char (&room)[kRoom]) {
  return {room, strnlen(room, kRoom)};
}

std::string TimeOf(int64_t seconds) {
  const time_t time = seconds;
  tm parts = {};
  char text[64] = "";
  if (localtime_r(&time, &parts) == nullptr) return "an unknown time";
  strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string LineOf(const LossNote& note) {
  return "process " + std::to_string(note.process_id) + " (" + TextOf(note.program) +
         ") left no profile at " + TimeOf(note.realtime_seconds) + ": " + TextOf(note.text);
}

bool HasEnded(uint64_t process) {
  const auto pid = static_cast<pid_t>(process);
  return pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH);
}

// Reads a note.  nullopt if the file is no note or another user's, or if its process has lost
// nothing yet.
std::optional<ReadNote> Read(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  struct stat file;
  LossNote note = {};
  const bool is_ours = fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
                       (file.st_uid == geteuid() || geteuid() == 0);
  const bool is_whole = is_ours && pread(fd, &note, sizeof(note), 0) == sizeof(note);
  close(fd);
  if (!is_whole || memcmp(note.magic, kLossNoteMagic, sizeof(note.magic)) != 0) return std::nullopt;
  if (*note.text != '\0') return ReadNote{{path, LineOf(note)}, note.realtime_seconds};
  if (!HasEnded(note.process_id)) return std::nullopt;
  return ReadNote{{path, ""}, note.realtime_seconds};
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

std::vector<FoundLossNote> LossNotes() {
  std::vector<ReadNote> notes;
  for (const std::string folder : kLossNoteFolders) {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
    if (entries == nullptr) continue;
    while (const dirent* const entry = readdir(entries.get())) {
      if (!IsNameOfNote(entry->d_name)) continue;
      if (auto note = Read(folder + "/" + entry->d_name)) notes.push_back(*std::move(note));
    }
  }
  std::sort(notes.begin(), notes.end(),
            [](const ReadNote& a, const ReadNote& b) { return a.seconds < b.seconds; });
  std::vector<FoundLossNote> found;
  found.reserve(notes.size());
  for (ReadNote& note : notes) found.push_back(std::move(note.found));
  return found;
}

}  // namespace allomon::control

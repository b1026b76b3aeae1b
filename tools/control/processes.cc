#include "tools/control/processes.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/control/page_client.h"
#include "tools/load/load.h"
#include "tools/options/values.h"
#include "tools/process/places.h"
#include "tracker/formats/control_names.h"

namespace allomon::control {
namespace {

using options::ParseNumber;

std::string FolderOf(uint32_t pid) { return "/proc/" + std::to_string(pid); }

// The texts after "NAME:" in /proc/PID/status, without the blanks before them.
using StatusFields = std::map<std::string, std::string>;
StatusFields StatusOf(uint32_t pid) {
  StatusFields fields;
  std::ifstream file(FolderOf(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    const size_t text = line.find_first_not_of(" \t", colon + 1);
    if (colon == std::string::npos || text == std::string::npos) continue;
    fields[line.substr(0, colon)] = line.substr(text);
  }
  return fields;
}

// Returns the first of several numbers with blanks between them.
uint32_t FirstNumber(const std::string& text) {
  uint32_t number = 0;
  ParseNumber(text.substr(0, text.find_first_of(" \t")), &number);
  return number;
}

// Reads field 22 of /proc/PID/stat, in clock ticks since the machine started (proc(5)).  The name
// before it may contain any character.
uint64_t StartOf(uint32_t pid) {
  std::ifstream file(FolderOf(pid) + "/stat");
  std::string line;
  std::getline(file, line, '\0');
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  constexpr int kBehindName = 22 - 2;
  std::string field;
  for (int i = 0; i < kBehindName; ++i) fields >> field;
  uint64_t ticks = 0;
  ParseNumber(field, &ticks);
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

uint64_t InodeOf(const std::string& path) {
  struct stat file;
  return stat(path.c_str(), &file) == 0 ? file.st_ino : 0;
}

uint64_t NanosOf(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t NanosNow(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return NanosOf(now);
}

// Whether the file was there, as it is, when the process began: an earlier process with the same id
// has written it.  A recording that grows is as young as its last part.
bool IsOlder(const struct stat& file, const ProcessFacts& process) {
  // A process's start is known to a tick, and both clocks are read one after the other.
  constexpr uint64_t kMostLateNanos = 50'000'000;
  const uint64_t age_nanos = NanosNow(CLOCK_BOOTTIME) - process.started_at_nanos;
  return NanosOf(file.st_mtim) + age_nanos + kMostLateNanos < NanosNow(CLOCK_REALTIME);
}

absl::StatusOr<std::string> RecordingOfEnded(uint32_t pid, const absl::Status& why) {
  const auto process = FactsOf(pid);
  for (const char* const folder : kFolders) {
    const std::string path =
        std::string(folder) + ControlStemOf(pid, OwnPidNamespace()).text + kRecordingSuffix;
    struct stat file;
    if (access(path.c_str(), R_OK) != 0 || stat(path.c_str(), &file) != 0) continue;
    if (process.has_value() && !process->has_ended && IsOlder(file, *process)) continue;
    return path;
  }
  return why;
}

std::string NameOf(const FoundRecording& found) {
  return found.running.pid != 0 ? FolderOf(found.running.pid) : found.path;
}

void AddDescendants(uint32_t pid, std::vector<std::string>* recordings) {
  for (const uint32_t child : DescendantsOf(pid)) {
    const auto found = FindRecording(child);
    if (!found.ok() || access(found->path.c_str(), R_OK) != 0) continue;
    if (found->running.pid != 0 && !load::HasAnyOf(found->running, found->path)) continue;
    recordings->push_back(NameOf(*found));
  }
}

}  // namespace

uint64_t OwnPidNamespace() { return InodeOf(kOwnPidNamespace); }

std::optional<ProcessFacts> FactsOf(uint32_t pid) {
  struct stat folder;
  if (pid == 0 || stat(FolderOf(pid).c_str(), &folder) != 0) return std::nullopt;
  const StatusFields status = StatusOf(pid);
  const auto field = [&status](const char* name) {
    const auto found = status.find(name);
    return found == status.end() ? std::string() : found->second;
  };
  ProcessFacts facts;
  facts.pid = pid;
  facts.pid_inside = process::IdInside(pid);
  facts.pid_namespace = InodeOf(process::MemoryFolderOf(pid) + "/ns/pid");
  facts.parent_pid = FirstNumber(field("PPid"));
  facts.user = folder.st_uid;
  // The state is that of the first thread, which may have ended before the others.
  facts.has_ended = field("State").compare(0, 1, "Z") == 0 && FirstNumber(field("Threads")) <= 1;
  facts.has_filter = field("Seccomp") == "2";
  facts.started_at_nanos = StartOf(pid);
  facts.name = field("Name");
  return facts;
}

std::vector<uint32_t> DescendantsOf(uint32_t pid) {
  std::multimap<uint32_t, uint32_t> children;
  for (const uint32_t other : process::AllIds()) {
    if (const auto facts = FactsOf(other)) children.emplace(facts->parent_pid, other);
  }
  std::vector<uint32_t> found = {pid};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      const bool is_new = std::find(found.begin(), found.end(), child->second) == found.end();
      if (is_new) found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

std::optional<bool> HasMapped(uint32_t pid, const std::string& part_of_path) {
  std::ifstream file(process::MemoryFolderOf(pid) + "/maps");
  if (!file) return std::nullopt;
  bool has_lines = false;
  for (std::string line; std::getline(file, line); has_lines = true) {
    if (line.find(part_of_path) != std::string::npos) return true;
  }
  if (!has_lines) return std::nullopt;
  return false;
}

absl::StatusOr<FoundRecording> FindRecording(uint32_t pid) {
  const auto client = PageClient::Open(pid);
  if (!client.ok()) {
    const auto mapped = load::RecordingMappedBy(pid);
    if (mapped.ok()) return FoundRecording{*mapped, process::IdsOf(pid)};
    const auto ended = RecordingOfEnded(pid, client.status());
    if (!ended.ok()) return ended.status();
    return FoundRecording{*ended};
  }
  const auto state = (*client)->Read();
  if (!state.ok()) return state.status();
  if (!state->recording.empty()) return FoundRecording{(*client)->PathFromHere(state->recording)};
  const std::string number = std::to_string(pid);
  return absl::UnavailableError("process " + number + " has not recorded anything; allomon ctl " +
                                number + " start");
}

absl::StatusOr<std::string> RecordingOf(uint32_t pid) {
  const auto found = FindRecording(pid);
  if (!found.ok()) return found.status();
  return NameOf(*found);
}

absl::StatusOr<std::vector<std::string>> RecordingsOf(uint32_t pid, bool with_descendants) {
  std::vector<std::string> recordings;
  const auto own = RecordingOf(pid);
  if (own.ok()) recordings.push_back(*own);
  if (with_descendants) AddDescendants(pid, &recordings);
  if (recordings.empty()) return own.status();
  return recordings;
}

}  // namespace allomon::control

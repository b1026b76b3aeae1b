#include "tools/run/resident.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace allomon::run {
namespace {

constexpr double kKib = 1024;
constexpr double kNanos = 1e9;

// Returns the number of a line "Name:   123 kB" in bytes; 0 if there is none.
double BytesAt(const std::string& status, const std::string& name) {
  const size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return 0;
  return kKib * std::strtod(status.c_str() + at + name.size() + 2, nullptr);
}

std::string StatusOf(uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  return {std::istreambuf_iterator<char>(file), {}};
}

// Empty if it cannot be read.
std::string ExecutableOf(uint32_t pid) {
  char path[PATH_MAX];
  const std::string link = "/proc/" + std::to_string(pid) + "/exe";
  const ssize_t length = readlink(link.c_str(), path, sizeof(path));
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

double UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

double SecondsSince(int64_t start_unix_nanos) {
  return std::max(0.0, UnixSeconds() - static_cast<double>(start_unix_nanos) / kNanos);
}

}  // namespace

void ResidentMemories::Look() {
  std::vector<recording::ProcessTotals> processes;
  std::string error;
  if (!recording::ReadTotals(memory_.Bytes(), &processes, &error)) return;
  std::map<std::pair<uint32_t, std::string>, int> count_of;
  for (const recording::ProcessTotals& process : processes) {
    ++count_of[{process.pid, process.program}];
  }
  for (const recording::ProcessTotals& process : processes) {
    const auto start = static_cast<int64_t>(process.start_realtime_nanos);
    Known& known = of_process_[{process.pid, start}];
    if (count_of[{process.pid, process.program}] > 1) {
      known.memory = {};
      continue;
    }
    heap::ProcessMemory memory;
    if (!IsOurs(process, &known) || !ParseResident(StatusOf(process.pid), &memory)) continue;
    memory.live_bytes = process.live.bytes;
    memory.seconds = SecondsSince(start);
    known.memory = memory;
    known.seen_seconds = memory.seconds;
  }
}

void ResidentMemories::NoteEnd(pid_t pid) {
  std::vector<recording::ProcessTotals> processes;
  std::string error;
  if (!recording::ReadTotals(memory_.Bytes(), &processes, &error)) return;
  int64_t last_start = 0;
  for (const recording::ProcessTotals& process : processes) {
    const auto start = static_cast<int64_t>(process.start_realtime_nanos);
    if (process.pid == static_cast<uint32_t>(pid)) last_start = std::max(last_start, start);
  }
  if (last_start == 0) return;
  const auto number = static_cast<uint64_t>(pid);
  of_process_[{number, last_start}].seen_seconds = SecondsSince(last_start);
}

uint64_t ResidentMemories::SeenNanos(const recording::Process& process) const {
  const auto start = static_cast<int64_t>(process.record.start_realtime_nanos);
  const auto found = of_process_.find({process.record.pid, start});
  return found == of_process_.end() ? 0
                                    : static_cast<uint64_t>(found->second.seen_seconds * kNanos);
}

// A number leads to one program at a time: one that executes another has had it before, and one in
// a pid namespace has a number of its own there.
bool ResidentMemories::IsOurs(const recording::ProcessTotals& process, Known* known) const {
  if (ExecutableOf(process.pid) != process.program) return false;
  if (!known->is_ours.has_value()) {
    known->is_ours = memory_.IsMappedBy(static_cast<pid_t>(process.pid));
  }
  return *known->is_ours;
}

void ResidentMemories::AddTo(std::vector<heap::HeapProfile>* profiles) const {
  for (heap::HeapProfile& profile : *profiles) {
    const auto found = of_process_.find({profile.pid, profile.start_unix_nanos});
    if (!profile.is_sum && found != of_process_.end()) profile.memory = found->second.memory;
  }
}

bool ParseResident(const std::string& status, heap::ProcessMemory* memory) {
  memory->resident_bytes = BytesAt(status, "VmRSS");
  memory->most_resident_bytes = std::max(BytesAt(status, "VmHWM"), memory->resident_bytes);
  return memory->resident_bytes > 0;
}

}  // namespace allomon::run

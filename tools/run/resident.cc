#include "tools/run/resident.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "tracker/formats/recording.h"

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

double UnixSeconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace

void ResidentMemories::Look() {
  std::vector<recording::ProcessTotals> processes;
  std::string error;
  if (!recording::ReadTotals(memory_.Bytes(), &processes, &error)) return;
  std::set<uint32_t> seen;
  for (auto each = processes.rbegin(); each != processes.rend(); ++each) {
    const recording::ProcessTotals& process = *each;
    // The program that began last under this number is the one that runs.
    if (!seen.insert(process.pid).second) continue;
    const auto start = static_cast<int64_t>(process.start_realtime_nanos);
    const auto [place, is_new] = of_process_.try_emplace({process.pid, start});
    Known& known = place->second;
    if (is_new) known.is_ours = memory_.IsMappedBy(static_cast<pid_t>(process.pid));
    heap::ProcessMemory memory;
    if (!known.is_ours || !ParseResident(StatusOf(process.pid), &memory)) continue;
    memory.live_bytes = process.live.bytes;
    memory.seconds = std::max(0.0, UnixSeconds() - static_cast<double>(start) / kNanos);
    known.memory = memory;
  }
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

#include "tools/run/main_program.h"

#include <algorithm>
#include <map>

namespace allomon::run {
namespace {

using recording::ProcessTotals;

constexpr double kWrapperShare = 8;

std::vector<Program> SumByPath(const std::vector<ProcessTotals>& processes) {
  std::map<std::string, Program> by_path;
  for (const ProcessTotals& process : processes) {
    Program& program = by_path[process.program];
    program.path = process.program;
    program.allocated_bytes += process.allocated.bytes;
    program.samples += process.allocated.samples;
    ++program.processes;
  }
  std::vector<Program> programs;
  for (auto& [path, program] : by_path) programs.push_back(std::move(program));
  return programs;
}

// Returns the path of the program in which the first process allocated most.  Among equals it is
// the last, which the process executed after the others.
std::string FirstProgram(const std::vector<ProcessTotals>& processes, uint32_t first_process) {
  const ProcessTotals* first = nullptr;
  for (const ProcessTotals& process : processes) {
    if (process.pid != first_process) continue;
    if (first == nullptr || process.allocated.bytes >= first->allocated.bytes) first = &process;
  }
  return first == nullptr ? "" : first->program;
}

}  // namespace

std::vector<Program> Programs(const std::vector<ProcessTotals>& processes, uint32_t first_process) {
  std::vector<Program> programs = SumByPath(processes);
  std::stable_sort(programs.begin(), programs.end(), [](const Program& a, const Program& b) {
    return a.allocated_bytes > b.allocated_bytes;
  });
  const std::string first_path = FirstProgram(processes, first_process);
  const auto first = std::find_if(programs.begin(), programs.end(),
                                  [&](const Program& it) { return it.path == first_path; });
  if (first != programs.end() &&
      first->allocated_bytes >= programs.front().allocated_bytes / kWrapperShare) {
    std::rotate(programs.begin(), first, first + 1);
  }
  if (!programs.empty()) programs.front().is_main = true;
  return programs;
}

}  // namespace allomon::run

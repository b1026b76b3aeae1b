#include "tools/run/finish.h"

#include <limits.h>
#include <stdlib.h>

#include <set>
#include <string_view>

#include "tools/heap/missing.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/run/main_program.h"
#include "tools/run/output_file.h"
#include "tools/run/words.h"
#include "tools/run/write_profiles.h"
#include "tools/text/shell_word.h"
#include "tracker/formats/recording.h"
#include "tracker/names/base_name.h"

namespace allomon::run {
namespace {

using recording::ProcessTotals;

void SayNothingRecorded(const std::string& command) {
  const std::string path = PathOfCommand(command);
  Say("nothing was recorded: " + path + " " + WhyUnrecorded(path));
}

// Names the processes that still run although the started program has ended.  If a process executed
// several programs, the last one is the one that it runs now.
void SayWhoGoesOn(const MemoryFile& memory, const std::vector<ProcessTotals>& processes) {
  std::set<uint32_t> seen;
  std::vector<std::string> names;
  for (auto process = processes.rbegin(); process != processes.rend(); ++process) {
    if (!seen.insert(process->pid).second) continue;
    if (!memory.IsMappedBy(static_cast<pid_t>(process->pid))) continue;
    names.push_back(BaseName(process->program) + " (" + std::to_string(process->pid) + ")");
  }
  if (names.empty()) return;
  Say(Count(names.size(), "process") + " " + (names.size() == 1 ? "goes" : "go") +
      " on: " + Listed(names) + "; written is what was allocated until now");
}

// `processes` lacks those that found no room at all in the recording.
void SayWhatWasDropped(const MemoryFile& memory, const std::vector<ProcessTotals>& processes) {
  heap::Missing missing;
  for (const ProcessTotals& process : processes) {
    missing.Add(recording::MissingOf(process.missing));
  }
  const std::string text = heap::MissingText(missing);
  if (!text.empty()) {
    Say(text);
  } else if (memory.SegmentsLost() > 0) {
    Say("the recording was full: processes that began afterwards are missing; give a larger "
        "--limit");
  }
}

void SayWhatIsNext(const std::string& path) {
  Say("next: allomon report " + ShellWord(path) + ", or allomon flame " + ShellWord(path));
}

// Returns "cc1plus, 50 processes"; empty if the recording has only one process.
std::string WhoIsMain(const std::vector<Program>& programs) {
  const Program& program = programs.front();
  if (programs.size() == 1 && program.processes == 1) return "";
  const auto processes = static_cast<uint64_t>(program.processes);
  return BaseName(program.path) + (processes == 1 ? "" : ", " + Count(processes, "process"));
}

// Saves the raw recording if no profile can be made of it, so that a corrected reader can still
// read it.
void SaveRaw(const MemoryFile& memory, const std::string& wanted, const std::string& why) {
  const std::string copy = memory.Copy();
  if (copy.empty()) return Say("the recording cannot be read: " + why + "; it is lost");
  std::string path = wanted + ".recording";
  std::string error;
  if (SaveFile(copy, &path, &error)) {
    Say("the recording cannot be read: " + why + "; it is kept as " + path);
  } else {
    Say("the recording cannot be read: " + why + "; and " + error);
  }
}

// Returns the name by which the program was called if that is a link to it: redis-server, not
// redis-check-rdb.
std::string NameForFile(const std::string& command, const Program& program) {
  char real[PATH_MAX];
  const bool was_called = realpath(PathOfCommand(command).c_str(), real) != nullptr;
  return BaseName(was_called && program.path == real ? command : program.path);
}

std::string OutputOf(const Options& options, const Program& program, pid_t first_process) {
  if (!options.out.empty()) return options.out;
  return DefaultOutput(NameForFile(options.command[0], program), first_process);
}

}  // namespace

void Finish(const Options& options, const MemoryFile& memory, const ResidentMemories& resident,
            pid_t first_process, const Signals& signals) {
  std::vector<ProcessTotals> processes;
  std::string error;
  if (!ReadTotals(memory.Bytes(), &processes, &error)) {
    return SaveRaw(memory, options.out.empty() ? "allomon" : options.out, error);
  }
  if (processes.empty()) return SayNothingRecorded(options.command[0]);
  SayWhoGoesOn(memory, processes);
  const std::vector<Program> programs = Programs(processes, static_cast<uint32_t>(first_process));
  const std::string out = OutputOf(options, programs.front(), first_process);
  ProfileWriter writer(memory, resident, programs, out, signals);
  const absl::Status read = writer.Read();
  if (!read.ok()) return SaveRaw(memory, out, std::string(read.message()));
  const std::string written = writer.Write(!options.quiet);
  SayWhatWasDropped(memory, processes);
  if (options.quiet || written.empty()) return;
  for (const std::string& line : TotalsText(writer.main_profile(), WhoIsMain(programs))) Say(line);
  SayWhatIsNext(written);
}

}  // namespace allomon::run

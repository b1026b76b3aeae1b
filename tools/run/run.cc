#include "tools/run/run.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "tools/leaks/suppressions.h"
#include "tools/options/documents.h"
#include "tools/options/recording_options.h"
#include "tools/options/values.h"
#include "tools/run/child.h"
#include "tools/run/exit_desk.h"
#include "tools/run/finish.h"
#include "tools/run/memory_file.h"
#include "tools/run/notify_relay.h"
#include "tools/run/options.h"
#include "tools/run/output_file.h"
#include "tools/run/progress_line.h"
#include "tools/run/resident.h"
#include "tools/run/signals.h"
#include "tools/run/words.h"
#include "tools/run/worker.h"

namespace allomon::run {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBadStatus = 2;
// The leak sanitizer's, so that what waits for that status need not be changed.  Tests that fail
// have others.
constexpr int kLostStatus = 23;

CommandResult Bad(const absl::Status& status) {
  return {kBadStatus, "", Message(std::string(status.message()))};
}

CommandResult NotExecuted(const std::string& program, int error) {
  const int status = StatusOfError(error);
  return {status, "",
          Message("cannot execute " + program + ": " + strerror(error) +
                  (status == 127 ? "; is its name right, and its folder in PATH?" : ""))};
}

// Shows on the terminal how much has been recorded so far.
class Progress {
 public:
  Progress(bool is_wanted, const MemoryFile& memory)
      : memory_(memory), line_(is_wanted, ProgressLine::Who::kProgram) {}

  void Tick() {
    if (line_.IsShown()) Show();
  }

 private:
  void Show() {
    std::vector<recording::ProcessTotals> processes;
    std::string error;
    ReadTotals(memory_.Bytes(), &processes, &error);
    const std::chrono::duration<double> seconds = Clock::now() - start_;
    line_.Show(ProgressText(seconds.count(), processes));
  }

  const MemoryFile& memory_;
  const Clock::time_point start_ = Clock::now();
  ProgressLine line_;
};

// A started program and how it ended.
struct Run {
  StartedChild child;
  ChildChange end;
};

Run RunProgram(const Options& options, const Variables& variables, const MemoryFile& memory,
               const Signals& signals, NotifyRelay* relay, ExitDesk* desk,
               ResidentMemories* resident) {
  Run run;
  run.child = StartChild(options.command, variables, signals);
  if (run.child.error != 0) return run;
  Progress progress(!options.quiet, memory);
  const auto tick = [&] {
    progress.Tick();
    resident->Look();
  };
  run.end = WaitForChild(run.child.pid, signals, tick, relay, desk);
  if (desk != nullptr) desk->Close(signals);
  resident->NoteEnd(run.child.pid);
  return run;
}

// Returns null if the program has no service manager, and after a failure.  Then the program
// notifies the manager itself, which may ignore it.
std::unique_ptr<NotifyRelay> RelayOrNull() {
  auto relay = NotifyRelay::OfEnvironment();
  if (relay.ok()) return *std::move(relay);
  Say(std::string(relay.status().message()) +
      "; the service manager may not hear that the program is ready");
  return nullptr;
}

void SayIfMappingsAreWanted() {
  const char* const wanted = getenv("ALLOMON_MMAP");
  if (wanted == nullptr || strcmp(wanted, "0") == 0) return;
  Say("ALLOMON_MMAP: recordings have no mappings, which are not counted; LD_PRELOAD with "
      "ALLOMON_PROFILE=alloc or live counts them");
}

void SayIfDumpsAreWanted() {
  if (getenv("ALLOMON_DUMP") == nullptr || WritesProfiles()) return;
  Say("ALLOMON_DUMP: recordings wait for no signal, which may end the program; allomon save PID "
      "writes what was recorded so far");
}

bool WantsHostsMalloc() {
  const char* const backend = getenv("ALLOMON_BACKEND");
  return backend != nullptr && strcmp(backend, "host") == 0;
}

// Variables that mean the same as options are refused where the options are.
absl::Status CheckVariables(const Options& options) {
  const char* const rate = getenv("ALLOMON_RATE");
  double samples_per_word = 0;
  if (rate != nullptr && !options.rate.samples_per_word &&
      !options::ParseRate(rate, &samples_per_word).ok()) {
    return absl::InvalidArgumentError(
        "ALLOMON_RATE: \"" + std::string(rate) +
        "\" is not a number of samples per word, above 0 and at most 1; give --rate, or unset it");
  }
  if (options.leaks == LeakCheck::kNone || !WantsHostsMalloc()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--leaks and ALLOMON_BACKEND=host: the search needs the blocks of mimalloc; give one of "
      "them");
}

// Reads the files of --suppressions and of the environment.
absl::Status ReadSuppressions(const Options& options, heap::Patterns* patterns) {
  if (options.leaks == LeakCheck::kNone) return absl::OkStatus();
  std::vector<std::string> paths = options.suppressions;
  const char* const path = getenv("ALLOMON_LEAKS_SUPPRESSIONS");
  if (path != nullptr && *path != '\0') paths.emplace_back(path);
  for (const std::string& file : paths) {
    const absl::Status status = leaks::AddSuppressions(file, patterns);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// A sample would miss most of what a small test loses.
void SampleAllForLeaks(Options* options) {
  const bool is_given = options->rate.samples_per_word || getenv("ALLOMON_RATE") != nullptr;
  if (options->leaks == LeakCheck::kNone || is_given) return;
  options::SetExact(&options->rate).IgnoreError();
}

void SayWhatWasSearched(const Options& options, const ExitDesk& desk) {
  if (desk.not_searched() > 0) {
    Say(Count(desk.not_searched(), "process") + " could not be searched for lost blocks");
  }
  if (desk.searched() == 0 && desk.not_searched() == 0) {
    Say("no process was searched for lost blocks: each ended by _exit, by a signal or by executing "
        "another program, or is not recorded");
  }
  if (options.quiet || desk.searched() == 0) return;
  Say(Count(desk.searched(), "process") + " searched for lost blocks at exit, " +
      (desk.with_losses() == 0 ? "nothing lost" : Number(desk.with_losses()) + " with losses"));
}

CommandResult Record(const Options& options, const std::string& library,
                     const heap::Patterns& suppressed) {
  SayIfMappingsAreWanted();
  SayIfDumpsAreWanted();
  int signal = 0;
  CommandResult result;
  {
    const Signals signals;  // before the memory file, which `ulimit -f` may refuse by SIGXFSZ
    auto memory = MemoryFile::Create(options.limit_bytes);
    if (!memory.ok()) return Bad(memory.status());
    const std::unique_ptr<NotifyRelay> relay =
        RelayOrNull();  // destroyed before `signals` unblocks SIGIO
    Variables variables = ChildVariables(options, library, **memory);
    if (relay != nullptr) variables.push_back({"NOTIFY_SOCKET", relay->Address()});
    ResidentMemories resident(**memory);
    std::unique_ptr<ExitDesk> desk;
    if (options.leaks != LeakCheck::kNone) desk = ExitDesk::Open(**memory, suppressed);
    const Run run =
        RunProgram(options, variables, **memory, signals, relay.get(), desk.get(), &resident);
    if (run.child.error != 0) return NotExecuted(options.command[0], run.child.error);
    Finish(options, **memory, resident, run.child.pid, signals);
    signal = run.end.signal;
    result.status = run.end.status;
    if (desk != nullptr) SayWhatWasSearched(options, *desk);
    const bool has_lost = desk != nullptr && desk->with_losses() > 0;
    if (options.leaks == LeakCheck::kError && has_lost && result.status == 0) {
      result.status = kLostStatus;
    }
  }
  if (signal != 0) DieBy(signal);
  return result;
}

std::string OutputToCheck(const Options& options) {
  return options.out.empty() ? DefaultOutput("program", getpid()) : options.out;
}

}  // namespace

const options::CommandText& RunText() { return RunCommand().Text(); }

CommandResult RunRun(const std::vector<std::string>& args) {
  auto options = ParseOptions(args);
  if (!options.ok()) return Bad(options.status());
  const auto answer = options::AnswerTo(*options, RunCommand().Text());
  if (answer.has_value()) return *answer;
  const absl::Status variables = CheckVariables(*options);
  if (!variables.ok()) return Bad(variables);
  const auto library = FindLibrary(ThisCommand(), options->keeps_malloc || WantsHostsMalloc());
  if (!library.ok()) return Bad(library.status());
  const absl::Status writable = CheckOutput(OutputToCheck(*options));
  if (!writable.ok()) return Bad(writable);
  heap::Patterns suppressed;
  const absl::Status suppressions = ReadSuppressions(*options, &suppressed);
  if (!suppressions.ok()) return Bad(suppressions);
  SampleAllForLeaks(&*options);
  return Record(*options, *library, suppressed);
}

}  // namespace allomon::run

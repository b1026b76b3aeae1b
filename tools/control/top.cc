#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/options.h"
#include "tools/control/processes.h"
#include "tools/options/documents.h"
#include "tools/report/report.h"
#include "tools/text/terminal.h"

namespace allomon::control {
namespace {

constexpr char kCommand[] = "top";
constexpr double kWaitSeconds = 10;
constexpr char kHome[] = "\033[H\033[2J";  // ECMA-48: go to the upper left, and erase

// SIGINT and SIGTERM end the display, but not the command, which may have to stop a recording.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~Interrupts() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // False if a signal interrupted it.
  bool Sleep(double seconds) const {
    timespec time;
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
    return sigtimedwait(&signals_, nullptr, &time) < 0;
  }

 private:
  sigset_t signals_;
  sigset_t before_;
};

CommandResult Report(const TopOptions& options, const std::vector<std::string>& recordings) {
  std::vector<std::string> args = options.report;
  args.push_back("--");
  args.insert(args.end(), recordings.begin(), recordings.end());
  return report::RunReport(args, report::ThisTerminal());
}

CommandResult ShowAgainAndAgain(const TopOptions& options) {
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  const uint64_t times = options.times != 0 ? options.times : is_terminal ? UINT64_MAX : 1;
  const Interrupts interrupts;
  for (uint64_t i = 0; i < times; ++i) {
    if (i != 0 && !interrupts.Sleep(options.every_seconds)) break;
    const auto recordings = RecordingsOf(options.pid, options.all_children);
    if (!recordings.ok()) return Failed(kCommand, recordings.status());
    const CommandResult result = Report(options, *recordings);
    if (result.status != 0) return result;
    printf("%s%s", is_terminal ? kHome : "", result.out.c_str());
    if (fflush(stdout) != 0) return {};  // no process reads the output
  }
  return {};
}

absl::Status Begin(const TopOptions& options, OwnRecording* recording) {
  Order start;
  start.verb = Verb::kStart;
  start.for_children = options.all_children;
  const auto is_answered = recording->Begin(start, kWaitSeconds);
  if (!is_answered.ok()) return is_answered.status();
  if (*is_answered) return absl::OkStatus();
  return absl::UnavailableError("the process does not answer: it has not allocated 8 MiB");
}

}  // namespace

const options::CommandText& TopText() { return TopCommand().Text(); }

CommandResult RunTop(const std::vector<std::string>& args) {
  const auto options = ParseTopOptions(args);
  if (!options.ok()) return Failed(kCommand, options.status());
  const auto answer = options::AnswerTo(*options, TopCommand().Text());
  if (answer.has_value()) return *answer;
  OwnRecording recording(options->pid);
  if (const absl::Status status = Begin(*options, &recording); !status.ok()) {
    return Failed(kCommand, status);
  }
  return ShowAgainAndAgain(*options);
}

}  // namespace allomon::control

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/control/control.h"
#include "tools/control/conversation.h"
#include "tools/control/interface.h"
#include "tools/control/options.h"
#include "tools/control/processes.h"
#include "tools/control/screen.h"
#include "tools/export/export_command.h"
#include "tools/options/documents.h"
#include "tools/pages/held_pages.h"
#include "tools/report/report.h"
#include "tools/report/table/load_files.h"
#include "tools/text/terminal.h"

namespace allomon::control {
namespace {

constexpr char kCommand[] = "top";
constexpr double kWaitSeconds = 10;
constexpr char kHome[] = "\033[H\033[2J";  // ECMA-48: go to the upper left, and erase

// SIGINT, SIGTERM and SIGHUP end the display, but not the command, which may have to stop a
// recording.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGHUP);
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
  CommandResult result = report::RunReport(args, report::ThisTerminal());
  NameCommand("report", kCommand, &result.err);
  return result;
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
    const std::string text = (is_terminal ? kHome : "") + result.out;
    if (fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0) continue;
    if (errno == EPIPE) return {};  // no process reads the output
    return Failed(kCommand, absl::UnavailableError(std::string("cannot write standard output: ") +
                                                   strerror(errno)));
  }
  return {};
}

// ---- The interface of a terminal.

std::string NameOf(uint32_t pid) {
  const auto facts = FactsOf(pid);
  return (facts.has_value() ? facts->name + " " : "") + std::to_string(pid);
}

absl::StatusOr<heap::HeapProfile> Read(const TopOptions& options, bool with_pages) {
  if (with_pages) return pages::ReadHeldPages(std::to_string(options.pid), {});
  const auto recordings = RecordingsOf(options.pid, options.all_children);
  if (!recordings.ok()) return recordings.status();
  report::Progress no_progress(false);
  return views::LoadSum(*recordings, {}, &no_progress);
}

// Returns a line for people.
std::string Save(const TopOptions& options, const std::string& path) {
  const auto recordings = RecordingsOf(options.pid, options.all_children);
  if (!recordings.ok()) return std::string(recordings.status().message());
  std::vector<std::string> words = {"--format=pprof", "-o", path, "--"};
  words.insert(words.end(), recordings->begin(), recordings->end());
  report::Terminal terminal;  // nothing is written to it
  terminal.charset = report::ThisTerminal().charset;
  const CommandResult result = interchange::RunExport(words, terminal);
  if (result.status == 0) return "next: allomon report " + path + ", or allomon flame " + path;
  return result.err.substr(0, result.err.find('\n'));
}

void Draw(Interface* interface, Screen* screen) {
  const std::vector<ScreenLine> lines = interface->Draw(screen->rows(), screen->columns());
  int row = 0;
  for (const ScreenLine& line : lines) screen->Put(row++, line.text, line.style);
  screen->Show();
}

CommandResult Interact(const TopOptions& options, Screen* screen) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr double kMostSeconds = 0.25;  // a signal is waited for no longer
  const Interrupts interrupts;
  Interface interface(NameOf(options.pid), options.report,
                      "allomon." + std::to_string(options.pid) + ".pb.gz", screen->charset());
  Clock::time_point next = Clock::now();
  while (interrupts.Sleep(0)) {
    if (Clock::now() >= next) {
      if (!interface.is_frozen()) interface.SetProfile(Read(options, interface.wants_pages()));
      next = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                Seconds(std::max(options.every_seconds, 0.1)));
    }
    Draw(&interface, screen);
    const double left = Seconds(next - Clock::now()).count();
    switch (interface.Press(screen->Read(std::min(left, kMostSeconds)))) {
      case Wish::kQuit:
        return {};
      case Wish::kRead:
        interface.SetProfile(Read(options, interface.wants_pages()));
        break;
      case Wish::kSave:
        interface.SetMessage(Save(options, interface.save_path()));
        break;
      case Wish::kNothing:
        break;
    }
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
  // Scripts say how often, or ask for JSON, and have no use for keys.
  if (options->times == 0) {
    if (const auto screen = OpenScreen()) return Interact(*options, screen.get());
  }
  return ShowAgainAndAgain(*options);
}

}  // namespace allomon::control

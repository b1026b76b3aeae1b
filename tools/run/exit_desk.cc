#include "tools/run/exit_desk.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>

#include "tools/leaks/exit_report.h"
#include "tools/run/words.h"
#include "tracker/formats/recording_layout.h"

namespace allomon::run {
namespace {

using leaks::ExitReport;
using leaks::Verdict;

// The reasons of more processes are only counted.
constexpr uint64_t kMostReasons = 3;

// The process of a thread; 0 if it has ended, or is not visible from here.
uint32_t ProcessOf(uint32_t thread) {
  std::ifstream file("/proc/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Tgid:", 0) == 0) {
      return static_cast<uint32_t>(strtoul(line.c_str() + 5, nullptr, 10));
    }
  }
  return 0;
}

// One call, so that the lines of several searches are not mixed.
void Print(const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(STDERR_FILENO, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

}  // namespace

std::unique_ptr<ExitDesk> ExitDesk::Open(const MemoryFile& memory,
                                         const heap::Patterns& suppressed) {
  recording::ExitDesk* const desk = memory.MapDesk();
  if (desk == nullptr) return nullptr;
  __atomic_store_n(&desk->is_open, 1, __ATOMIC_RELEASE);
  return std::unique_ptr<ExitDesk>(new ExitDesk(memory, suppressed, desk));
}

void ExitDesk::Attend() {
  __atomic_fetch_add(&desk_->beats, 1, __ATOMIC_RELAXED);
  NoteEnds();
  const uint32_t asking = __atomic_load_n(&desk_->asking, __ATOMIC_ACQUIRE);
  if (asking == 0) return;
  const bool is_known = std::any_of(searches_.begin(), searches_.end(),
                                    [&](const auto& search) { return search.second == asking; });
  if (!is_known) Begin(asking);
}

// The desk is free for the next process as soon as this one stands.
void ExitDesk::Release(uint32_t thread) {
  __atomic_compare_exchange_n(&desk_->asking, &thread, 0, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_RELAXED);
}

void ExitDesk::Begin(uint32_t thread) {
  const pid_t pid = fork();
  if (pid == 0) Search(thread);
  if (pid > 0) {
    searches_.emplace(pid, thread);
    return;
  }
  if (not_searched_++ < kMostReasons) {
    Say("a process was not searched for lost blocks: no process can be started for it");
  }
  Release(thread);
}

void ExitDesk::Search(uint32_t thread) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Verdict verdict = Verdict::kNotSearched;
  try {
    const uint32_t process = ProcessOf(thread);
    ExitReport report = {Verdict::kNotSearched,
                         "a process was not searched for lost blocks: it has a pid namespace of "
                         "its own; use allomon run inside"};
    if (process != 0 && memory_.IsMappedBy(static_cast<pid_t>(process))) {
      report = leaks::ReportAtExit(process, suppressed_, [&] { Release(thread); });
      // A block that found no room in the recording is not among those that were searched for.
      if (report.verdict == Verdict::kNothingLost && memory_.SegmentsLost() > 0) {
        report = {Verdict::kNotSearched,
                  "process " + std::to_string(process) +
                      " may have lost blocks that found no room in the recording; give a larger "
                      "--limit"};
      }
    }
    verdict = report.verdict;
    if (verdict == Verdict::kLost) Print("allomon run: " + report.text);
    if (verdict == Verdict::kNotSearched && not_searched_ < kMostReasons) {
      Print(Message(report.text));
    }
  } catch (const std::exception&) {
    Print(Message("a process was not searched for lost blocks: out of memory"));
  }
  _exit(static_cast<int>(verdict));
}

void ExitDesk::Note(int status) {
  const bool is_done = WIFEXITED(status);
  if (is_done && WEXITSTATUS(status) == static_cast<int>(Verdict::kLost)) ++with_losses_;
  if (!is_done || WEXITSTATUS(status) == static_cast<int>(Verdict::kNotSearched)) {
    ++not_searched_;
  } else {
    ++searched_;
  }
}

void ExitDesk::NoteEnds() {
  for (auto search = searches_.begin(); search != searches_.end();) {
    int status = 0;
    if (waitpid(search->first, &status, WNOHANG) != search->first) {
      ++search;
      continue;
    }
    Note(status);
    Release(search->second);
    search = searches_.erase(search);
  }
}

void ExitDesk::Interrupt() {
  for (const auto& [pid, thread] : searches_) kill(pid, SIGKILL);
}

void ExitDesk::Close(const Signals& signals) {
  __atomic_store_n(&desk_->is_open, 0, __ATOMIC_RELEASE);
  for (NoteEnds(); !searches_.empty(); NoteEnds()) {
    siginfo_t info = {};
    if (IsRequestToEnd(signals.Wait(kMilliseconds, &info))) Interrupt();
  }
}

}  // namespace allomon::run

#include "tools/run/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "tools/run/words.h"

namespace allomon::run {
namespace {

// ECMA-48: go to the beginning of the line, and erase to its end.
constexpr char kWipe[] = "\r\033[K";
// xterm's sequences: save the title, set it, and restore it.
constexpr char kKeepTitle[] = "\033[22;0t";
constexpr char kSetTitle[] = "\033]0;";
constexpr char kEndTitle[] = "\a";
constexpr char kOldTitle[] = "\033[23;0t";

constexpr std::string_view kWithTitle[] = {"xterm",     "rxvt", "screen",  "tmux",
                                           "alacritty", "foot", "konsole", "gnome"};

std::string_view TerminalName() {
  const char* const name = getenv("TERM");
  return name == nullptr ? "" : name;
}

bool HasTitle() {
  const std::string_view name = TerminalName();
  return std::any_of(std::begin(kWithTitle), std::end(kWithTitle), [name](std::string_view start) {
    return name.substr(0, start.size()) == start;
  });
}

// Writes in one call, so that the program's own output does not get into the middle.
void Write(const std::string& text) { (void)!write(STDERR_FILENO, text.data(), text.size()); }

bool IsInForeground() { return tcgetpgrp(STDERR_FILENO) == getpgrp(); }

}  // namespace

ProgressLine::Place ProgressLine::PlaceBeside(Who who) {
  if (isatty(STDERR_FILENO) == 0 || TerminalName().empty() || TerminalName() == "dumb") {
    return Place::kNowhere;
  }
  if (who == Who::kNobody || isatty(STDOUT_FILENO) == 0) return Place::kLine;
  return HasTitle() ? Place::kTitle : Place::kNowhere;
}

ProgressLine::ProgressLine(bool is_wanted, Who who)
    : place_(is_wanted ? PlaceBeside(who) : Place::kNowhere) {}

ProgressLine::~ProgressLine() {
  if (shown_ && IsInForeground()) Write(place_ == Place::kTitle ? kOldTitle : kWipe);
}

// Leaves the cursor at the beginning of the line, where the program's output may start.
void ProgressLine::Show(const std::string& text) {
  if (place_ == Place::kNowhere || !IsInForeground()) return;
  if (place_ == Place::kTitle) {
    Write((shown_ ? "" : kKeepTitle) + (kSetTitle + text) + kEndTitle);
  } else {
    Write(kWipe + text + "\r");
  }
  shown_ = true;
}

std::string ProgressText(double seconds, const std::vector<recording::ProcessTotals>& processes) {
  double live_bytes = 0;
  double peak_bytes = 0;
  uint64_t samples = 0;
  std::set<uint32_t> pids;
  for (const recording::ProcessTotals& process : processes) {
    live_bytes += process.live.bytes;
    peak_bytes += process.peak_bytes;
    samples += process.allocated.samples;
    pids.insert(process.pid);
  }
  return Seconds(seconds) + ", live " + Bytes(live_bytes) + ", peak " + Bytes(peak_bytes) + ", " +
         Count(samples, "sample") + (pids.size() > 1 ? ", " + Count(pids.size(), "process") : "");
}

}  // namespace allomon::run

// The pages about processes: metrics, the command line, names of addresses.
#include <time.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/control/processes.h"
#include "tools/heap/heap_profile.h"
#include "tools/load/recording/locations.h"
#include "tools/process/places.h"
#include "tools/serve/metrics.h"
#include "tools/serve/pages.h"
#include "tools/text/plain_text.h"
#include "tracker/formats/recording.h"

namespace allomon::serve {
namespace {

bool ParseAddress(std::string_view text, uint64_t* address) {
  constexpr int kHexadecimal = 16;
  if (text.substr(0, 2) != "0x") return false;
  text.remove_prefix(2);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *address, kHexadecimal);
  return error == std::errc() && rest == end;
}

using Names = std::unordered_map<uint64_t, std::string>;

Names NamesOf(const heap::HeapProfile& profile) {
  Names names;
  for (const heap::Location& location : profile.locations) {
    if (location.address == 0 || location.lines.empty()) continue;
    const uint32_t function = location.lines.back().function;  // skips functions inlined there
    if (function < profile.functions.size()) {
      names[location.address] = profile.functions[function].name;
    }
  }
  return names;
}

// Parses "0x12+0x34".  Leaves out parts that are no addresses.
std::vector<uint64_t> AddressesOf(std::string_view text) {
  std::vector<uint64_t> addresses;
  while (!text.empty()) {
    const size_t length = std::min(text.find('+'), text.size());
    uint64_t address = 0;
    if (ParseAddress(text.substr(0, length), &address)) addresses.push_back(address);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return addresses;
}

// Returns "num_symbols: 1", and a line for each address for which the profile has a name.
std::string SymbolText(const heap::HeapProfile& profile, const std::vector<uint64_t>& addresses) {
  const Names names = NamesOf(profile);
  std::string text = "num_symbols: 1\n";
  for (const uint64_t address : addresses) {
    const auto found = names.find(address);
    if (found == names.end()) continue;
    char number[32];
    snprintf(number, sizeof number, "0x%llx ", static_cast<unsigned long long>(address));
    text += number + Printable(found->second, Charset::kUtf8) + "\n";
  }
  return text;
}

uint64_t Now(clockid_t clock) {
  constexpr uint64_t kNanosPerSecond = 1'000'000'000;
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

// True if the process of a recording still runs.  Its id tells if its modules are not known yet, or
// this user may not read its maps.  Outside a container, that may belong to another process,
// which is recognized if it is younger.
bool IsRunning(const recording::Process& process, process::Running* running) {
  if (process.record.ended) return false;
  if (running->Find(recording::DescriptionOf(process)) != 0) return true;
  const auto facts = control::FactsOf(process.record.pid);
  if (!facts) return false;
  // A process's start is known to a tick, and its clock also runs while the machine sleeps.
  constexpr uint64_t kTickNanos = 10'000'000;
  const uint64_t monotonic = Now(CLOCK_MONOTONIC);
  const uint64_t slept = Now(CLOCK_BOOTTIME) - monotonic;
  return facts->started_at_nanos <= process.record.start_monotonic_nanos + slept + kTickNanos;
}

PushFigures FiguresOf(const PushCounts& counts) {
  PushFigures figures;
  figures.taken = static_cast<double>(counts.taken);
  figures.refused = static_cast<double>(counts.refused);
  figures.dropped = static_cast<double>(counts.dropped);
  figures.retries = static_cast<double>(counts.retries);
  figures.queued = static_cast<double>(counts.queued);
  figures.queued_bytes = static_cast<double>(counts.queued_bytes);
  figures.last_taken_seconds = static_cast<double>(counts.last_taken_unix_seconds);
  return figures;
}

}  // namespace

absl::StatusOr<Reply> Pages::MetricsText(const Files& files, const Request&) const {
  Metrics metrics;
  process::Running running;
  VisitProcesses(
      files,
      [&](const RecordingFile& file, const recording::Process& process) {
        metrics.Add(file.name, process, IsRunning(process, &running));
      },
      [&](const RecordingFile&) { metrics.AddUnreadable(); });
  if (pushes_ != nullptr) metrics.SetPushes(FiguresOf(*pushes_));
  return ReplyOf(metrics.Text(), kPrometheusType);
}

// Returns the command line of the process that allocated most.
absl::StatusOr<Reply> Pages::Cmdline(const Files& files, const Request& request) const {
  const auto choice = ChoiceOf(request);
  if (!choice.ok()) return choice.status();
  std::optional<std::string> command;
  double most_bytes = 0;
  VisitProcesses(
      files,
      [&](const RecordingFile&, const recording::Process& process) {
        const double bytes = process.record.allocated.bytes;
        if (!choice->Fits(process) || (command && bytes < most_bytes)) return;
        command = process.TextOf(process.record.command);
        most_bytes = bytes;
      },
      [](const RecordingFile&) {});
  if (!command) return absl::NotFoundError("no recording is of such a process");
  if (!command->empty() && command->back() == '\0') command->pop_back();
  return ReplyOf(*std::move(command), kPlainText);
}

absl::StatusOr<Reply> Pages::Symbol(const Files& files, const Request& request) const {
  const std::string_view asked = request.method == "POST" ? request.body : request.query;
  const std::vector<uint64_t> addresses = AddressesOf(asked);
  if (addresses.empty()) return ReplyOf("num_symbols: 1\n", kPlainText);
  Request all = request;
  all.parameters.clear();
  const auto profile = HeapFor(files, all);
  if (!profile.ok()) return profile.status();
  return ReplyOf(SymbolText(*profile, addresses), kPlainText);
}

}  // namespace allomon::serve

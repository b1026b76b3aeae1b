// The pages about processes: metrics, the command line, names of addresses.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/serve/metrics.h"
#include "tools/serve/pages.h"
#include "tools/serve/running.h"
#include "tools/serve/symbols.h"

namespace allomon::serve {

absl::StatusOr<Reply> Pages::MetricsText(const Files& files, const Request&) const {
  Metrics metrics;
  VisitProcesses(
      files,
      [&](const RecordingFile& file, const recording::Process& process) {
        metrics.Add(file.name, process, IsRunning(process));
      },
      [&](const RecordingFile&) { metrics.AddUnreadable(); });
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

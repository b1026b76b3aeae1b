#include "tools/serve/pages.h"

#include <algorithm>
#include <utility>

#include "tools/text/plain_text.h"

namespace allomon::serve {
namespace {

int StatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

Reply ErrorReply(const absl::Status& status) {
  const std::string message(status.message());
  return TextReply(StatusOf(status), Printable(message, Charset::kUtf8));
}

constexpr char kOfProfiles[] = "seconds,debug";

// True if `name` is one of the words of `list`, which commas separate.
bool IsIn(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

const Pages::Entry Pages::kEntries[] = {
    {"/", "the flame graph; refresh=SECONDS loads it again", &Pages::Flame, false, "metric,refresh",
     true, true},
    {"/metrics", "for Prometheus", &Pages::MetricsText, false, "", false, true},
    {"/debug/pprof/", "this list", &Pages::Index, false, nullptr, false, false},
    {"/debug/pprof/heap", "what is live, for go tool pprof", &Pages::Heap, false, kOfProfiles, true,
     true},
    {"/debug/pprof/allocs", "what was allocated, likewise", &Pages::Allocs, false, kOfProfiles,
     true, true},
    {"/debug/pprof/profile", "time, where the process allows it", &Pages::Profile, false, nullptr,
     false, false},
    {"/debug/pprof/cmdline", "the command line, a zero between words", &Pages::Cmdline, false, "",
     true, true},
    {"/debug/pprof/symbol", "names of addresses: ?0x1+0x2, or as a body", &Pages::Symbol, true,
     nullptr, false, true},
};

const Pages::Entry* Pages::Find(const std::string& path) {
  for (const Entry& entry : kEntries) {
    if (path == entry.path) return &entry;
  }
  return nullptr;
}

Reply Pages::Get(const Request& request) {
  const Entry* const entry = Find(request.path);
  if (entry == nullptr) return TextReply(404, "no such page; /debug/pprof/ lists all");
  const bool is_post = request.method == "POST" && entry->takes_body;
  if (request.method != "GET" && request.method != "HEAD" && !is_post) {
    return TextReply(405, "GET is what this page answers");
  }
  if (entry->parameters == nullptr) return Make(*entry, request);
  return replies_.Get(KeyOf(*entry, request), [&] { return Make(*entry, request); });
}

bool Pages::IsQuick(std::string_view request) {
  constexpr std::string_view kMetrics = "GET /metrics";
  const std::string_view next = request.substr(std::min(kMetrics.size(), request.size()), 1);
  return request.substr(0, kMetrics.size()) == kMetrics && (next == " " || next == "?");
}

// Returns the key of equal requests.  Leaves out parameters that the page does not know.  Includes
// lengths, so that a value cannot look like the next name.
std::string Pages::KeyOf(const Entry& entry, const Request& request) {
  std::string key = request.path;
  for (const auto& [name, value] : request.parameters) {
    if (!(entry.has_choice && IsOfChoice(name)) && !IsIn(entry.parameters, name)) continue;
    key += "?" + name + "=" + std::to_string(value.size()) + ":" + value;
  }
  return key;
}

// Asks the source for files before the fork: it has a lock, which another thread could hold at the
// time of the fork.
Reply Pages::Make(const Entry& entry, const Request& request) {
  if (!entry.reads_recordings) return Call(entry, {}, request);
  const auto files = source_.Files();
  if (!files.ok()) return ErrorReply(files.status());
  return MakeBounded([&] { return Call(entry, *files, request); }, limits_, request.is_cancelled);
}

Reply Pages::Call(const Entry& entry, const Files& files, const Request& request) const {
  absl::StatusOr<Reply> reply = (this->*entry.page)(files, request);
  return reply.ok() ? *std::move(reply) : ErrorReply(reply.status());
}

absl::StatusOr<Reply> Pages::Index(const Files&, const Request&) const {
  std::string text;
  for (const Entry& entry : kEntries) text += std::string(entry.path) + "  " + entry.about + "\n";
  text +=
      "process=PID or process=NAME chooses; focus-label=KEY=VALUE, ignore-label, by=label:KEY, "
      "born=10m..2m, outlived=KEY\n";
  return ReplyOf(std::move(text), kPlainText);
}

absl::StatusOr<Reply> Pages::Profile(const Files&, const Request&) const {
  return absl::UnimplementedError(
      "no time profile: recordings are of the heap, and a process cannot be asked for its time; "
      "start it with ALLOMON_PROFILE=time, and it writes one at its end");
}

}  // namespace allomon::serve

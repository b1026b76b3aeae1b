#include "tools/serve/pages.h"

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

}  // namespace

const Pages::Entry Pages::kEntries[] = {
    {"/", "the flame graph; refresh=SECONDS loads it again", &Pages::Flame, false, true},
    {"/metrics", "for Prometheus", &Pages::MetricsText, false, true},
    {"/debug/pprof/", "this list", &Pages::Index, false, false},
    {"/debug/pprof/heap", "what is live, for go tool pprof", &Pages::Heap, false, true},
    {"/debug/pprof/allocs", "what was allocated, likewise", &Pages::Allocs, false, true},
    {"/debug/pprof/profile", "time, where the process allows it", &Pages::Profile, false, false},
    {"/debug/pprof/cmdline", "the command line, a zero between words", &Pages::Cmdline, false,
     true},
    {"/debug/pprof/symbol", "names of addresses: ?0x1+0x2, or as a body", &Pages::Symbol, true,
     false},
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
  if (!entry->is_shared) return Make(*entry, request);
  return replies_.Get(request.path + "?" + request.query, [&] { return Make(*entry, request); });
}

Reply Pages::Make(const Entry& entry, const Request& request) {
  absl::StatusOr<Reply> reply = (this->*entry.page)(request);
  return reply.ok() ? *std::move(reply) : ErrorReply(reply.status());
}

absl::StatusOr<Reply> Pages::Index(const Request&) {
  std::string text;
  for (const Entry& entry : kEntries) text += std::string(entry.path) + "  " + entry.about + "\n";
  text +=
      "process=PID or process=NAME chooses; focus-label=KEY=VALUE, ignore-label, by=label:KEY\n";
  return ReplyOf(std::move(text), kPlainText);
}

absl::StatusOr<Reply> Pages::Profile(const Request&) {
  return absl::UnimplementedError(
      "no time profile: recordings are of the heap, and a process cannot be asked for its time; "
      "start it with ALLOMON_PROFILE=time, and it writes one at its end");
}

}  // namespace allomon::serve

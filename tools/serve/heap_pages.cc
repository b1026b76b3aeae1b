// The pages with call stacks: pprof files and the flame graph.
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tools/flame/flame.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/join.h"
#include "tools/options/values.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tools/serve/pages.h"

namespace allomon::serve {
namespace {

using options::Bad;

// Reads the time that a profile covers; 0: all since the recording began.
absl::Status ReadSeconds(const Request& request, unsigned* seconds) {
  // A reply may take twice this time (WorkLimits).
  constexpr unsigned kMostSeconds = 60;
  const std::string* const text = request.Find("seconds");
  *seconds = 0;
  if (text == nullptr || *text == "0") return absl::OkStatus();
  if (options::ParseNumber(*text, seconds) && *seconds <= kMostSeconds) return absl::OkStatus();
  return Bad(
      "seconds: give whole seconds from 1 to 60; for longer times compare two profiles by "
      "go tool pprof -base");
}

// Rejects parameters that a profile cannot have: it is in pprof's format.
absl::Status CheckProfileRequest(const Request& request) {
  const std::string* const debug = request.Find("debug");
  if (debug == nullptr || *debug == "0") return absl::OkStatus();
  return Bad("debug: there is no form as text; go tool pprof -text shows one");
}

absl::Status AddRefresh(const Request& request, Reply* reply) {
  constexpr uint32_t kMostSeconds = 86'400;
  const std::string* const text = request.Find("refresh");
  if (text == nullptr) return absl::OkStatus();
  uint32_t seconds = 0;
  if (!options::ParseNumber(*text, &seconds) || seconds == 0 || seconds > kMostSeconds) {
    return Bad("refresh: give whole seconds, such as 5");
  }
  reply->headers.emplace_back("Refresh", std::to_string(seconds));
  return absl::OkStatus();
}

std::string ValueOr(const Request& request, const char* name) {
  const std::string* const value = request.Find(name);
  return value == nullptr ? "" : *value;
}

absl::StatusOr<std::optional<heap::Metric>> MetricOf(const Request& request) {
  const std::string* const name = request.Find("metric");
  if (name == nullptr || name->empty()) return std::optional<heap::Metric>();
  const auto metric = heap::MetricOf(*name);
  if (metric.has_value()) return metric;
  return Bad("metric: \"" + *name + "\" is no metric: give one such as live");
}

}  // namespace

absl::StatusOr<heap::HeapProfile> Pages::HeapFor(const Files& files, const Request& request) const {
  const auto choice = ChoiceOf(request);
  if (!choice.ok()) return choice.status();
  return HeapOf(files, *choice, options_);
}

absl::StatusOr<Reply> Pages::PprofOf(const Files& files, const Request& request, const char* name,
                                     heap::Metric first) const {
  const absl::Status status = CheckProfileRequest(request);
  if (!status.ok()) return status;
  unsigned seconds = 0;
  const absl::Status time = ReadSeconds(request, &seconds);
  if (!time.ok()) return time;
  auto profile = HeapFor(files, request);
  if (!profile.ok()) return profile.status();
  if (seconds > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(seconds));
    auto later = HeapFor(files, request);
    if (!later.ok()) return later.status();
    heap::KeepSince(*profile, &*later);
    profile = std::move(later);
  }
  Reply reply =
      ReplyOf(pprof::Gzip(pprof::EncodePprof(*profile, first)), "application/octet-stream");
  reply.headers.emplace_back("Content-Disposition",
                             std::string("attachment; filename=\"") + name + ".pb.gz\"");
  return reply;
}

absl::StatusOr<Reply> Pages::Heap(const Files& files, const Request& request) const {
  return PprofOf(files, request, "heap", heap::Metric::kLive);
}

absl::StatusOr<Reply> Pages::Allocs(const Files& files, const Request& request) const {
  return PprofOf(files, request, "allocs", heap::Metric::kAllocated);
}

absl::StatusOr<Reply> Pages::Flame(const Files& files, const Request& request) const {
  auto profile = HeapFor(files, request);
  if (!profile.ok()) return profile.status();
  const std::string title = ValueOr(request, "process");
  flame::Profiles profiles;
  profiles.shown.push_back({"allomon serve", *std::move(profile)});
  const auto metric = MetricOf(request);
  if (!metric.ok()) return metric.status();
  auto page = flame::RenderPage(profiles, title, *metric);
  if (!page.ok()) return page.status();
  Reply reply = ReplyOf(*std::move(page), "text/html; charset=utf-8");
  const absl::Status status = AddRefresh(request, &reply);
  if (!status.ok()) return status;
  return reply;
}

}  // namespace allomon::serve

#include "tools/serve/push_look.h"

#include <unistd.h>

#include <memory>
#include <string_view>
#include <utility>

#include "tools/export/otlp.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/join.h"
#include "tools/load/recording/recording_profile.h"
#include "tools/pprof/gzip.h"
#include "tools/pprof/pprof.h"
#include "tools/pprof/wire.h"

namespace allomon::serve {
namespace {

using heap::HeapProfile;
using heap::Metric;
using pprof::WireReader;
using pprof::WireWriter;

// Bytes of a look that the server keeps until the next one.
constexpr size_t kMostKeptBytes = size_t{256} << 20;

constexpr char kEndOfName[] = "\n";

// Fields of the message from a look's process to the server.
enum LookField : uint32_t { kKept = 1, kRequest = 2, kProblem = 3 };
enum KeptField : uint32_t { kKey = 1, kProfile = 2 };

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// Programs of one file differ by their executable and their begin.
std::string KeyOf(const RecordingFile& file, const HeapProfile& profile) {
  return file.name + kEndOfName + profile.program + kEndOfName +
         std::to_string(profile.start_unix_nanos);
}

// Returns the request of a program, as it is sent.
std::string RequestOf(const HeapProfile& before, HeapProfile profile) {
  heap::KeepSince(before, &profile);
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    const auto metric = static_cast<Metric>(i);
    profile.has[i] &= metric == Metric::kAllocated || metric == Metric::kLive;
  }
  return pprof::Gzip(interchange::EncodeOtlp(profile, Metric::kLive, HostName()));
}

void AddKept(const std::string& key, const std::string& profile, WireWriter* out) {
  std::string kept;
  WireWriter fields(&kept);
  fields.Bytes(kKey, key);
  fields.Bytes(kProfile, profile);
  out->Bytes(kKept, kept);
}

// Returns the profile of a recording's begin.
HeapProfile NothingOf(const HeapProfile& profile) {
  HeapProfile nothing;
  nothing.has = profile.has;
  return nothing;
}

}  // namespace

// Keeps the earlier look at a recording that cannot be read now.
void PushLook::KeepAll(const RecordingFile& file, pprof::WireWriter* out) const {
  const std::string begin = file.name + kEndOfName;
  for (auto at = before_.lower_bound(begin);
       at != before_.end() && at->first.compare(0, begin.size(), begin) == 0; ++at) {
    AddKept(at->first, at->second, out);
  }
}

// Runs in the look's process.
Reply PushLook::Make(const std::vector<RecordingFile>& files) const {
  std::string message;
  WireWriter out(&message);
  size_t kept_bytes = 0;
  const auto add = [&](const RecordingFile& file, const HeapProfile& exact) {
    const std::string bytes = pprof::EncodePprof(exact);
    const std::string packed = pprof::Gzip(bytes);
    const std::string key = KeyOf(file, exact);
    kept_bytes += key.size() + packed.size();
    if (kept_bytes > kMostKeptBytes) {
      out.Bytes(kProblem, "more recordings than fit: some are not pushed; serve fewer by --pid");
      return;
    }
    AddKept(key, packed, &out);
    const auto known = before_.find(key);
    const bool is_new = known == before_.end();
    const bool is_older = exact.start_unix_nanos < since_unix_nanos_;
    if (is_new ? is_older && is_first_ : known->second == packed) return;
    auto profile = pprof::DecodePprof(bytes);
    if (!profile.ok()) return;
    HeapProfile before = is_new && is_older ? *profile : NothingOf(*profile);
    if (!is_new) {
      const auto unpacked = pprof::Gunzip(known->second);
      auto decoded = pprof::DecodePprof(unpacked.ok() ? *unpacked : "");
      if (!decoded.ok()) return;
      before = *std::move(decoded);
    }
    out.Bytes(kRequest, RequestOf(before, *std::move(profile)));
  };
  for (const RecordingFile& file : files) {
    recording::RecordingOptions reading = {options_.name_sources, options_.names};
    reading.running = file.running;
    const auto profiles = recording::ReadRecordingProfiles(file.path, reading);
    if (!profiles.ok()) {
      out.Bytes(kProblem, std::string(profiles.status().message()));
      KeepAll(file, &out);
      continue;
    }
    for (const HeapProfile& profile : *profiles) add(file, profile);
  }
  return ReplyOf(std::move(message), "");
}

std::vector<SharedText> PushLook::Look(const std::atomic<bool>* is_cancelled) {
  const auto files = source_.Files();
  if (!files.ok()) {
    SayOnce(std::string(files.status().message()));
    return {};
  }
  const Reply reply = MakeBounded([&] { return Make(*files); }, WorkLimits(), is_cancelled);
  const std::string_view body = reply.body == nullptr ? std::string_view() : *reply.body;
  if (reply.status != 200) {
    SayOnce(std::string(body.substr(0, body.find('\n'))));
    return {};
  }
  std::vector<SharedText> requests;
  std::map<std::string, std::string> seen;
  for (WireReader reader(body); reader.Next();) {
    if (reader.field() == kRequest) {
      requests.push_back(std::make_shared<const std::string>(reader.bytes()));
    }
    if (reader.field() == kProblem) SayOnce(std::string(reader.bytes()));
    if (reader.field() != kKept) continue;
    std::string key, profile;
    for (WireReader kept(reader.bytes()); kept.Next();) {
      (kept.field() == kKey ? key : profile) = kept.bytes();
    }
    seen[std::move(key)] = std::move(profile);
  }
  before_ = std::move(seen);
  is_first_ = false;
  return requests;
}

void PushLook::SayOnce(const std::string& line) {
  if (line != last_line_) say_(line);
  last_line_ = line;
}

}  // namespace allomon::serve

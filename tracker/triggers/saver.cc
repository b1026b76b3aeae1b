#include "tracker/triggers/saver.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "tracker/base/clock.h"
#include "tracker/base/errno_keeper.h"
#include "tracker/recording/host_filter.h"
#include "tracker/recording/resident_memory.h"

namespace allomon::triggers {
namespace {

using recording::kSegmentBytes;
using recording::Recorder;

constexpr std::string_view kSuffix = ".rec";

std::atomic<bool> g_is_stopped{false};
std::atomic<Saver::Say> g_say{nullptr};

const char* WhyOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "there is no room on its disk; make some, or name another directory by dir=";
    case EACCES:
    case EPERM:
    case EROFS:
      return "its directory may not be written to; name another by dir=";
    case ENOENT:
    case ENOTDIR:
      return "its directory is not there; name another by dir=";
    case EFBIG:
      return "`ulimit -f` is too small; raise it";
    case EMFILE:
    case ENFILE:
      return "too many files are open; raise `ulimit -n`";
    case ENAMETOOLONG:
      return "its name is too long; name another file by ALLOMON_RECORD";
    default:
      return "its disk does not take it; name another directory by dir=";
  }
}

std::string_view WithoutSuffix(std::string_view name) {
  const bool has_suffix =
      name.size() > kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix;
  return has_suffix ? name.substr(0, name.size() - kSuffix.size()) : name;
}

}  // namespace

void StopForFilter() {
  if (g_is_stopped.exchange(true, std::memory_order_relaxed)) return;
  static constexpr char kLine[] =
      "allomon: ALLOMON_SAVE: the program takes system calls from itself (prctl NO_NEW_PRIVS or "
      "SECCOMP), so no copies are saved from here on; the recording goes on\n";
  const Saver::Say say = g_say.load(std::memory_order_acquire);
  if (say != nullptr) say(kLine, sizeof(kLine) - 1);
}

Saver::Saver(const Settings& settings, Say say, bool says_copies, ReadHeap read_heap)
    : settings_(settings), say_(say), says_copies_(says_copies), read_heap_(read_heap) {
  if (!settings.directory.empty()) {
    // The directory is shorter than a path may be, and has no final zero.
    memcpy(path_.text, settings.directory.data(), settings.directory.size());
    recording::MakeAbsolute(path_.text, &directory_);
  }
  g_say.store(say, std::memory_order_release);
  recording::host_filter_hook.store(StopForFilter, std::memory_order_release);
}

void Saver::Look(Recorder& recorder) {
  if (g_is_stopped.load(std::memory_order_relaxed)) return;
  const internal::OneInside::Scope inside(door_);
  if (!inside) return;
  const ErrnoKeeper keeper;
  LookInside(recorder);
}

void Saver::LookInside(Recorder& recorder) {
  if (!recorder.Stand(&standing_)) return;
  if (standing_.serial != serial_ && !BeginRecording(recorder)) return;
  if (!has_place_) return;
  if (settings_.limit_percent != 0) {
    usage_ = memory_limit_.Read(settings_.limit_percent, internal::ClockNanos(CLOCK_MONOTONIC));
  }
  facts_ = {standing_.nanos, standing_.peak_bytes, usage_.used_bytes, usage_.limit_bytes,
            standing_.peak_variance};
  const Reason reason = DueNow(recorder);
  if (reason != Reason::kNone) Save(recorder, reason);
  recorder.SetNextLook(rules_.GapBytes(facts_));
}

// Tests whether copies can be written, so that the user learns of an error before one is due.
bool Saver::BeginRecording(Recorder& recorder) {
  serial_ = standing_.serial;
  has_failed_ = false;
  rules_.Begin(settings_);
  has_place_ = SetPlace(recorder);
  if (!has_place_) return false;
  const int error = file_.Begin(0);
  file_.Abandon();
  if (error != 0) SayFailure(Reason::kNone, error);
  return true;
}

bool Saver::SetPlace(Recorder& recorder) {
  if (!recorder.CopyPath(serial_, &path_)) return false;
  const std::string_view path = path_.text;
  const size_t slash = path.rfind('/');
  const std::string_view own = directory_.text;
  if (!standing_.is_named) {
    if (own.empty()) {
      SayNoPlace();
      return false;
    }
    line_.Clear().Add("allomon.").AddNumber(standing_.pid);
    file_.SetPlace(own, {line_.text(), line_.length()});
    return true;
  }
  file_.SetPlace(own.empty() ? path.substr(0, std::max<size_t>(slash, 1)) : own,
                 WithoutSuffix(path.substr(slash + 1)));
  return true;
}

Reason Saver::DueNow(Recorder& recorder) {
  const Reason reason = rules_.Due(facts_);
  if (reason != Reason::kNone || !rules_.IsAgeScanDue(facts_.nanos)) return reason;
  uint64_t birth_nanos = 0;
  if (!copy_.FindOldest(recorder, standing_, rules_.seen_nanos(), &birth_nanos)) {
    return Reason::kNone;
  }
  return rules_.IsAgeDue(facts_.nanos, birth_nanos) ? Reason::kAge : Reason::kNone;
}

void Saver::Save(Recorder& recorder, Reason reason) {
  const uint64_t begin_nanos = internal::ClockNanos(CLOCK_MONOTONIC);
  const auto pages = reason == Reason::kLimit ? CopyFile::Pages::kGivenUp : CopyFile::Pages::kLeft;
  int error = file_.Begin(uint64_t{standing_.segments} * kSegmentBytes, pages);
  if (error == 0) {
    // The copy says how large the process is now: the recording reads it less often, or never.
    const recording::ResidentBytes resident = recording::ReadResidentBytes();
    if (resident.all != 0) recorder.SetResident(standing_.serial, resident.all);
    recording::HeapPages heap = {};
    if (read_heap_ != nullptr) heap = read_heap_(copy_.room(), RecordingCopy::kRoomBytes);
    heap.file_bytes = resident.of_files;
    error = copy_.Write(recorder, standing_, heap, &file_);
    if (error == 0) error = file_.Finish(NameOf(reason), settings_.keep);
    if (error != 0) file_.Abandon();
  }
  if (error == ECANCELED) return;  // another thread has ended the recording
  if (error != 0) {
    rules_.NoteFailed(facts_.nanos);
    return SayFailure(reason, error);
  }
  has_failed_ = false;
  rules_.NoteSaved(reason, facts_, internal::ClockNanos(CLOCK_MONOTONIC) - begin_nanos);
  if (says_copies_) SaySaved(reason);
}

// Once, until a copy succeeds.
void Saver::SayFailure(Reason reason, int error) {
  if (has_failed_) return;
  has_failed_ = true;
  const bool is_try = reason == Reason::kNone;
  line_.Clear().Add("allomon: ALLOMON_SAVE: ").Add(is_try ? "copies such as " : "");
  line_.Add(file_.PathOf(is_try ? "limit" : NameOf(reason))).Add(" cannot be saved: ");
  line_.Add(WhyOf(error)).Add(" (it is tried again)\n");
  say_(line_.text(), line_.length());
}

void Saver::SaySaved(Reason reason) {
  line_.Clear().Add("allomon: ALLOMON_SAVE: saved ").Add(file_.PathOf(NameOf(reason)));
  if (reason == Reason::kLimit) {
    line_.Add(": ").AddNumber(facts_.used_bytes >> 20).Add(" of ");
    line_.AddNumber(facts_.limit_bytes >> 20).Add(" MiB of ");
    line_.Add(usage_.is_addresses ? "`ulimit -v`" : "the cgroup").Add(" are used");
  }
  line_.Add("\n");
  say_(line_.text(), line_.length());
}

void Saver::SayNoPlace() {
  static constexpr char kLine[] =
      "allomon: ALLOMON_SAVE: the recording is in memory, of `allomon run`; name a directory for "
      "copies by dir=DIRECTORY\n";
  say_(kLine, sizeof(kLine) - 1);
}

}  // namespace allomon::triggers

#include "tools/load/recording/recording_profile.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <utility>

#include "tools/heap/born.h"
#include "tools/load/recording/code_names.h"
#include "tools/load/recording/find_code.h"
#include "tools/load/recording/locations.h"
#include "tools/load/recording/profile_builder.h"
#include "tracker/base/check.h"
#include "tracker/formats/recording.h"
#include "tracker/names/base_name.h"

namespace allomon::recording {
namespace {

using Processes = std::vector<Process>;

absl::Status Error(const std::string& name, const std::string& what) {
  return absl::InvalidArgumentError(name + ": " + what);
}

bool HasSamples(const Process& process) {
  return process.record.allocated.samples > 0 || !process.rows.empty() ||
         process.record.missing[Shortage::kSamples] > 0;
}

// Removes the processes that were not chosen.  False if no process is left.
bool KeepChosen(const RecordingOptions& options, Processes* processes) {
  if (options.running.pid != 0) KeepRunning(options.running, processes);
  if (options.is_chosen != nullptr) {
    const auto is_other = [&](const Process& process) { return !options.is_chosen(process); };
    processes->erase(std::remove_if(processes->begin(), processes->end(), is_other),
                     processes->end());
  }
  return !processes->empty();
}

// Removes the processes without samples, unless all are.  Returns a note on them.
std::string LeaveOutEmpty(Processes* processes) {
  const auto empty = std::stable_partition(processes->begin(), processes->end(), HasSamples);
  if (empty == processes->begin() || empty == processes->end()) return "";
  constexpr int kMostNames = 5;
  const auto count = processes->end() - empty;
  std::string note = std::to_string(count) + (count == 1 ? " process" : " processes") +
                     " without a sample left out: ";
  for (auto each = empty; each != processes->end() && each - empty < kMostNames; ++each) {
    note += (each == empty ? "" : ", ") + BaseName(each->program);
  }
  if (count > kMostNames) note += ", ...";
  processes->erase(empty, processes->end());
  return note;
}

void SortByBytes(Processes* processes) {
  std::stable_sort(processes->begin(), processes->end(), [](const Process& a, const Process& b) {
    return a.record.allocated.bytes > b.record.allocated.bytes;
  });
}

// The program's own module is the one with an empty path.
CodeIdentity ProgramOf(const Process& process) {
  for (const Module& module : process.modules) {
    if (module.begin == 0 || module.path.length_bytes != 0) continue;
    return IdentityOf(module, process.program, process.record.start_realtime_nanos);
  }
  CodeIdentity unknown;
  unknown.path = process.program;
  return unknown;
}

// Has a builder for each program, in the order of their first processes.
class Programs {
 public:
  Programs(CodeNames* names, const RecordingOptions& options)
      : names_(*names),
        reads_perf_maps_(options.names),
        keeps_numbers_(options.keeps_live != nullptr) {}

  void Add(const Process& process, const RecordingOptions& options) {
    const auto [place, is_new] =
        index_of_.try_emplace({ProgramOf(process), process.record.rate}, builders_.size());
    if (is_new) {
      builders_.emplace_back(&names_, reads_perf_maps_, keeps_numbers_);
      bytes_.push_back(0);
    }
    ALLOMON_DCHECK_EQ("inv.load.rows", builders_.size(), bytes_.size());
    builders_[place->second].Add(process, options);
    bytes_[place->second] += process.record.allocated.bytes;
  }

  // Returns the profiles, the program that allocated most first.
  std::vector<heap::HeapProfile> Finish() {
    std::vector<size_t> order;
    for (size_t i = 0; i < builders_.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [this](size_t a, size_t b) { return bytes_[a] > bytes_[b]; });
    std::vector<heap::HeapProfile> profiles;
    for (const size_t i : order) profiles.push_back(builders_[i].Finish());
    return profiles;
  }

 private:
  CodeNames& names_;
  const bool reads_perf_maps_;
  const bool keeps_numbers_;
  std::vector<ProfileBuilder> builders_;
  std::vector<double> bytes_;
  std::map<std::pair<CodeIdentity, double>, size_t> index_of_;
};

uint64_t NanosNow(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// Whether a process still writes the file: it holds a lock of it (tracker/recording/file_owner.h).
bool IsBeingWritten(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  const bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);  // releases the lock if this got it
  return is_held;
}

// The process ran until then without a sample or a death: nothing else has changed.  Of a recording
// that was stopped, that is not known.
void EndAt(uint64_t nanos, Process* process) {
  if (process->record.ended || process->record.lost) return;
  if (nanos <= process->record.last_nanos) return;
  process->record.last_nanos = nanos;
  if (process->timeline.empty()) return;
  TimelinePoint point = process->timeline.back();
  point.nanos = nanos;
  point.most_live_bytes = point.live_bytes;
  process->timeline.push_back(point);
}

void KeepLive(const RecordingOptions& options, Process* process) {
  std::vector<LiveBlock> kept = process->live;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!options.keeps_live(*process, static_cast<uint32_t>(i + 1))) kept[i] = {};
  }
  process->live = std::move(kept);
}

std::vector<heap::HeapProfile> ProfilesOf(Processes processes, const RecordingOptions& options) {
  SortByBytes(&processes);
  CodeNames names(options.name_sources);
  Programs programs(&names, options);
  for (Process& process : processes) {
    programs.Add(process, options);
    process = {};
  }
  if (options.names) names.LookUp(options.progress);
  std::vector<heap::HeapProfile> profiles = programs.Finish();
  if (options.names && options.name_sources.server != nullptr) {
    for (std::string& note : options.name_sources.server->TakeNotes()) {
      profiles[0].notes.push_back(std::move(note));
    }
  }
  return profiles;
}

}  // namespace

void KeepRunning(const process::Ids& ids, std::vector<Process>* processes) {
  struct Candidate {
    size_t mapped;
    uint64_t start_nanos;
    size_t index;
  };
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < processes->size(); ++i) {
    const Process::Record& record = (*processes)[i].record;
    if (record.pid != ids.inside || record.ended) continue;
    const std::vector<uint64_t> begins = DescriptionOf((*processes)[i]).files_begin;
    const auto mapped = process::CountMapped(ids.pid, begins);
    // A process that is gone shows no maps, and a young one may have no modules yet: their ids
    // tell.
    if (mapped == size_t{0} && !begins.empty()) continue;
    candidates.push_back({mapped.value_or(0), record.start_monotonic_nanos, i});
  }
  const auto is_before = [](const Candidate& a, const Candidate& b) {
    return std::pair(a.mapped, a.start_nanos) < std::pair(b.mapped, b.start_nanos);
  };
  const auto found = std::max_element(candidates.begin(), candidates.end(), is_before);
  if (found == candidates.end()) return processes->clear();
  std::swap((*processes)[found->index], processes->front());
  processes->erase(processes->begin() + 1, processes->end());
}

uint64_t NanosSinceStart(const Process& process) {
  const Process::Record& record = process.record;
  return std::min(Less(NanosNow(CLOCK_MONOTONIC), record.start_monotonic_nanos),
                  Less(NanosNow(CLOCK_REALTIME), record.start_realtime_nanos));
}

bool LooksLikeRecording(std::string_view first_bytes) {
  return first_bytes.substr(0, sizeof(kMagic)) == std::string_view(kMagic, sizeof(kMagic));
}

absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const RecordingBytes& bytes, const std::string& name, const RecordingOptions& options) {
  Recording recording;
  std::string what;
  if (!ReadRecording(bytes, &recording, &what)) return Error(name, what);
  if (recording.processes.empty()) {
    const std::string why = recording.notes.empty() ? "" : " (" + recording.notes[0] + ")";
    return Error(name, "no process has recorded anything yet" + why +
                           "; read it again when the program has begun to allocate");
  }
  if (!KeepChosen(options, &recording.processes)) {
    return Error(name, options.running.pid == 0
                           ? "no such process"
                           : "nothing is recorded of it yet; read it again when it has begun to "
                             "allocate");
  }
  if (options.seen_nanos != nullptr) {
    for (Process& process : recording.processes) EndAt(options.seen_nanos(process), &process);
  }
  if (options.keeps_live != nullptr) {
    for (Process& process : recording.processes) KeepLive(options, &process);
  }
  const std::string empty = LeaveOutEmpty(&recording.processes);
  std::vector<heap::HeapProfile> profiles = ProfilesOf(std::move(recording.processes), options);
  if (options.keeps_live != nullptr) {
    for (heap::HeapProfile& profile : profiles) heap::KeepAgedAlone(&profile);
  }
  std::vector<std::string>& notes = profiles[0].notes;
  for (std::string& note : recording.notes) notes.push_back(std::move(note));
  if (!empty.empty()) notes.push_back(empty);
  if (recording.header.segments_lost > 0) {
    notes.push_back("the recording was full: --limit sets how large it may get");
  }
  return profiles;
}

absl::StatusOr<std::vector<heap::HeapProfile>> ReadRecordingProfiles(
    const std::string& path, const RecordingOptions& options) {
  FileBytes bytes;
  std::string what;
  if (!bytes.Open(path, &what)) return Error(path, what);
  RecordingOptions until_now = options;
  if (options.seen_nanos == nullptr && IsBeingWritten(path)) until_now.seen_nanos = NanosSinceStart;
  return ReadRecordingProfiles(bytes, path, until_now);
}

heap::Missing MissingOf(const Shortages& shortages) {
  const auto number = [&](Shortage shortage) { return static_cast<double>(shortages[shortage]); };
  heap::Missing missing;
  missing.samples = number(Shortage::kSamples);
  missing.bytes = number(Shortage::kBytes);
  missing.ends = number(Shortage::kEnds);
  missing.threads = number(Shortage::kThreads);
  missing.saved = number(Shortage::kSaved);
  missing.names = number(Shortage::kNames);
  missing.frames = number(Shortage::kFrames);
  missing.scopes = number(Shortage::kScopes);
  missing.unseen = number(Shortage::kUnseen);
  return missing;
}

}  // namespace allomon::recording

#include "allocator/environment/auto_recording.h"

#include <unistd.h>

#include <new>
#include <string>
#include <string_view>

#include "allocator/environment/auto_profile_say.h"
#include "allocator/heap_usage.h"
#include "allocator/host/host_stderr.h"
#include "allocator/host/stand_aside.h"
#include "tracker/base/check.h"
#include "tracker/base/own_memory.h"
#include "tracker/control/attendant.h"
#include "tracker/control/probe_sampler.h"
#include "tracker/recording/start.h"
#include "tracker/triggers/saver.h"

namespace allomon::internal {
namespace {

recording::StartOptions StartOptionsOf(const EnvironmentOptions& options) {
  ALLOMON_DCHECK("inv.environment.options",
                 options.record_limit_bytes >= recording::kLeastLimitBytes &&
                     options.record_limit_bytes <= recording::kMostLimitBytes);
  recording::StartOptions start;
  start.path = options.record.c_str();
  start.memory_file = {options.record_device, options.record_inode};
  start.limit_bytes = options.record_limit_bytes;
  start.rate = options.rate;
  start.watcher = WatcherIfWanted(options);
  start.follows_children = options.record_only == 0;
  start.seed = options.seed.has_value() ? *options.seed : RandomSeed();
  return start;
}

bool IsForThisProcess(const EnvironmentOptions& options) {
  return options.record_only == 0 || options.record_only == static_cast<uint64_t>(getpid());
}

// The contents of the heap's pages, for copies.  `begins_late`: the recording began later than the
// process.
template <bool begins_late>
recording::HeapPages HeapNow(char* room, size_t room_bytes) {
  recording::HeapPages known = {};
  known.known = recording::HeapKnown::kOtherAllocator;
  if (ReadHeapPages == nullptr) return known;
  const HeapPages heap = ReadHeapPages(room, room_bytes);
  if (heap.known == HeapPages::Known::kOtherAllocator) return known;
  if (heap.known == HeapPages::Known::kUnreadable) {
    known.known = recording::HeapKnown::kUnreadable;
    return known;
  }
  known.known = begins_late ? recording::HeapKnown::kSincePart : recording::HeapKnown::kWhole;
  known.live_bytes = heap.pages.live_bytes;
  known.free_bytes = heap.pages.free_bytes;
  known.kept_bytes = heap.pages.kept_bytes;
  known.sampled_free_bytes = heap.sampled_free_bytes;
  return known;
}

// The parent of a process that begins or enters a pid namespace is not visible in it.
bool IsFirstOfNamespace() { return getppid() == 0; }

}  // namespace

void StartRecordingIfWanted(const EnvironmentOptions& options) {
  CheckSave(options);
  // Of a process that waits for an order, too, which may be to record.
  if ((!options.record.empty() || IsIdle(options)) && NamesOfAllocator != nullptr) {
    const AllocatorNames names = NamesOfAllocator();
    recording::SetAllocatorNames(names.backend, names.file);
  }
  if (options.record.empty() || IsIdle(options) || !IsForThisProcess(options)) return;
  if (options.rate == 0) {
    Say("ALLOMON_RATE=0: a recording at this rate has no samples; the program runs unrecorded");
    return;
  }
  const recording::Started started = recording::StartRecorder(StartOptionsOf(options));
  if (started.error == recording::kNoMemoryFile && IsFirstOfNamespace()) {
    Say("ALLOMON_RECORD=" + options.record +
        ": this process is in a pid namespace of its own, from which allomon run is out of reach; "
        "it and its children run unrecorded: use allomon run inside");
    return;
  }
  // The `allomon run` that owned the file has ended, or is not visible to this process; or it
  // reports itself that the file is full.
  if (started.error == recording::kNoMemoryFile || started.error == recording::kMemoryFileFull) {
    return;
  }
  if (started.error != nullptr) {
    Say("ALLOMON_RECORD=" + options.record + ": cannot record: " + started.error +
        "; the program runs unrecorded");
  } else if (started.control != ControlError::kNone) {
    Say("ALLOMON_RECORD: too many sessions sample already; the program runs unrecorded");
  }
}

recording::Watcher* WatcherIfWanted(const EnvironmentOptions& options) {
  triggers::Settings settings;
  std::string_view wrong;
  if (!triggers::ParseSettings(options.save, &settings, &wrong)) return nullptr;
  // The memory does not come from malloc, whose blocks appear in profiles.
  void* const room = OwnMemory::Map(sizeof(triggers::Saver));
  if (room == nullptr) {
    Say("ALLOMON_SAVE: there is no memory for it; no copies are saved");
    return nullptr;
  }
  ALLOMON_DCHECK_EQ("inv.environment.saver",
                    reinterpret_cast<uintptr_t>(room) % alignof(triggers::Saver), 0);
  return new (room) triggers::Saver(settings, WriteToStderr, options.summary,
                                    IsIdle(options) ? HeapNow<true> : HeapNow<false>);
}

void CheckSave(const EnvironmentOptions& options) {
  if (options.save.empty() || !options.record.empty() || IsIdle(options)) return;
  Say("ALLOMON_SAVE: nothing is recorded that could be saved; set ALLOMON_RECORD=FILE, or "
      "ALLOMON_PROFILE=idle");
}

bool IsIdle(const EnvironmentOptions& options) { return options.profile == "idle"; }

namespace {

// An idle process has an attendant, which looks at the probes, too.
void ServeProbesIfWanted(const EnvironmentOptions& options) {
  const uint64_t by_default = IsIdle(options) ? control::kProbeGapBytes : 0;
  control::ProbeOptions probes;
  probes.gap_bytes = options.probe_gap_bytes.value_or(by_default);
  if (probes.gap_bytes == 0) return;
  probes.seed = options.seed;
  if (IsIdle(options)) return control::SetProbes(probes);
  if (const char* const error = control::WatchProbes(probes)) {
    Say(std::string("ALLOMON_PROBES: ") + error + "; the program runs on, and its probes are mute");
  }
}

}  // namespace

void AttendIfWanted(const EnvironmentOptions& options) {
  ServeProbesIfWanted(options);
  if (!IsIdle(options)) return;
  control::AttendOptions attend;
  attend.path = options.record.c_str();
  attend.rate = options.rate;
  attend.limit_bytes = options.record_limit_bytes;
  attend.seed = options.seed;
  attend.watcher = WatcherIfWanted(options);
  if (const char* const error = control::StartAttending(attend)) {
    Say(std::string("ALLOMON_PROFILE=idle: ") + error +
        "; the program runs on, and cannot be asked to record");
  }
}

void StopAttending() { control::EndAttending(); }

}  // namespace allomon::internal

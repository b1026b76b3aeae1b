#include "allocator/environment/auto_recording.h"

#include <unistd.h>

#include <string>

#include "allocator/environment/auto_control.h"
#include "allocator/environment/auto_profile_say.h"
#include "allocator/environment/auto_save.h"
#include "allocator/host/stand_aside.h"
#include "tracker/recording/start.h"

namespace allomon::internal {
namespace {

recording::StartOptions StartOptionsOf(const EnvironmentOptions& options) {
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

}  // namespace allomon::internal

#include "allocator/environment/auto_control.h"

#include "allocator/environment/auto_profile_say.h"
#include "allocator/environment/auto_recording.h"
#include "tracker/control/attendant.h"
#include "tracker/control/probe_sampler.h"

namespace allomon::internal {
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

bool IsIdle(const EnvironmentOptions& options) { return options.profile == "idle"; }

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

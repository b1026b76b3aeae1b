#include "allocator/environment/auto_control.h"

#include "allocator/environment/auto_profile_say.h"
#include "allocator/environment/auto_recording.h"
#include "tracker/control/attendant.h"

namespace allomon::internal {

bool IsIdle(const EnvironmentOptions& options) { return options.profile == "idle"; }

void AttendIfWanted(const EnvironmentOptions& options) {
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

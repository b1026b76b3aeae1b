#include "allocator/environment/auto_save.h"

#include <new>
#include <string_view>

#include "allocator/environment/auto_control.h"
#include "allocator/environment/auto_profile_say.h"
#include "allocator/host/host_stderr.h"
#include "tracker/base/own_memory.h"
#include "tracker/triggers/saver.h"

namespace allomon::internal {

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
  return new (room) triggers::Saver(settings, WriteToStderr, options.summary);
}

void CheckSave(const EnvironmentOptions& options) {
  if (options.save.empty() || !options.record.empty() || IsIdle(options)) return;
  Say("ALLOMON_SAVE: nothing is recorded that could be saved; set ALLOMON_RECORD=FILE, or "
      "ALLOMON_PROFILE=idle");
}

}  // namespace allomon::internal

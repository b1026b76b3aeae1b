// The profile that the environment asked for, and how one file of it is written.
#ifndef ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_FILE_H_
#define ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_FILE_H_

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "allocator/environment/auto_profile_place.h"
#include "allocator/environment/environment.h"
#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/write_rule.h"
#include "tracker/profile/record/data_units.h"

namespace allomon::internal {

// Static data without destructor: the profile is written behind the last destructor of the process.
struct AutoProfile {
  EnvironmentOptions options;
  StartPlace place;
  bool forked = false;
  pid_t process = getpid();
  // Guards the following fields and the writing: a signal may ask for a file while the process
  // ends.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool on = false;
  uint64_t files = 0;
  WriteRule rule;
  std::string before_exec;  // the file that was written before the process executes a program

  // A forked child would overwrite its parent's file, unless the name tells them apart.
  bool MayWrite() const { return on && (!forked || NamesProcess(options.out)); }
};
// What the recorder is asked for.
RecordingOptions RecordingFrom(const EnvironmentOptions& options);

// Where the next file goes: what ALLOMON_OUT says, of this process.
std::string NextPath(const AutoProfile& profile);

// Writes `path` unless the profile's rule is against it, which is said if that may matter to
// somebody.  Returns whether it was written.  Under the profile's mutex, and in RunWriter()
// (writing_reserve.h): it allocates.
enum class Refusal { kSaid, kSilent };
bool WriteFileLocked(AutoProfile& profile, const std::string& path, UnitName unit, Refusal refusal);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_FILE_H_

// The profile that the environment asked for, and the writing of one file of it.
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

// Static data without destructor: the profile is written after the last destructor of the process.
struct AutoProfile {
  EnvironmentOptions options;
  StartPlace place;
  bool forked = false;
  pid_t process = getpid();
  // Guards the following fields and the writing: a signal may request a file while the process
  // ends.
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool on = false;
  uint64_t files = 0;
  WriteRule rule;
  std::string before_exec;  // the file that was written before the process executes a program

  // A forked child would overwrite its parent's file unless the name contains the process id.
  bool MayWrite() const { return on && (!forked || NamesProcess(options.out)); }
};
// Returns the recorder's options.
RecordingOptions RecordingFrom(const EnvironmentOptions& options);

// Returns the path of the next file: ALLOMON_OUT, expanded for this process.
std::string NextPath(const AutoProfile& profile);

// Writes `path` unless the profile's rule forbids it; with kSaid a refusal that may matter is
// printed. Returns whether it was written.  Called under the profile's mutex and in RunWriter()
// (writing_reserve.h): it allocates.
enum class Refusal { kSaid, kSilent };
bool WriteFileLocked(AutoProfile& profile, const std::string& path, UnitName unit, Refusal refusal);

// ---- Writes the profile of the environment at the program's end, and on request.
// auto_profile_ends.h has the other ways in which a program ends.

// nullptr if the environment asked for no profile, or had an error.  Written before main, never
// destroyed.
extern AutoProfile* auto_profile;

// Ends the profile and writes the unit that was current when the program ended, as MLton does at
// exit.  A second call does nothing.  Any thread that may allocate; not in a handler that
// interrupted malloc.
void WriteLast(UnitName unit);

// Writes the profile of the run so far.  Callers: as for WriteLast().
void WriteAndGoOn(UnitName unit);

}  // namespace allomon::internal

#endif  // ALLOMON_ALLOCATOR_ENVIRONMENT_AUTO_PROFILE_FILE_H_

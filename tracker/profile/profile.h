// Profiles a program's allocation by source function, as MLton's `-profile alloc` does,
// and writes mlmon.out for mlprof.
//
//   allomon::Profile::Start();              // every block; {1e-4} for a production rate
//   ...
//   allomon::Profile::Stop();
//   allomon::Profile::Write("mlmon.out");
//
// Functions are those that say ALLOMON_FUNCTION(); a program without any is attributed
// by its symbol tables.  An executable with ALLOMON_FUNCTION() answers
// `program @MLton show-sources`, so `mlprof program mlmon.out` works on it; for any other
// give mlprof the file `mlmon.out.sources`, which is written beside the profile.
//
// Thread safe; not to be called in signal handlers or inside malloc.
#ifndef ALLOMON_TRACKER_PROFILE_PROFILE_H_
#define ALLOMON_TRACKER_PROFILE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tracker/profile/profile_data.h"
#include "tracker/profile/source_function.h"

namespace allomon {

struct ProfileOptions {
  // Samples per word; 1 sees every block, so the numbers are exact.
  double rate = 1;
  // Default: unpredictable.
  std::optional<uint64_t> seed;
};

class Profile {
 public:
  // Bytes that every thread allocates from now on go to its current unit of data.  Fails
  // with kInvalidArgument for a rate outside [0, 1], kFailedPrecondition when on.
  static absl::Status Start(const ProfileOptions& options = {});
  // Fails with kFailedPrecondition when off.
  static absl::Status Stop();
  static bool IsOn();

  // Writes a unit to `path`, atomically; a program without ALLOMON_FUNCTION() gets
  // `path`.sources beside it, an executable that answers for its functions.  Callable
  // while the profile is on.  Fails with kUnavailable: one line that names the file, the
  // cause and the remedy; an older file survives.
  static absl::Status Write(const std::string& path,
                            const ProfileData& data = DefaultProfileData());

  // "12,345 bytes allocated +- 678 (95 %), rate 0.0001 per word, seed 42".
  static std::string Summary(const ProfileData& data = DefaultProfileData());
};

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_PROFILE_H_

// MLton's profiler for C++.  It counts, by source function, the bytes that a program allocates, the
// time that it spends, or the calls that it makes.  The result is written as mlmon.out for mlprof.
//
//   allomon::Profile::Start();              // every block; see ProfileOptions
//   ...
//   allomon::Profile::Stop();
//   allomon::Profile::Write("mlmon.out");
//
// Functions are those that say ALLOMON_FUNCTION() and those compiled with entry hooks (README.md,
// "Entry hooks").  A program without any of these is attributed by its symbol tables.  An
// executable with functions of its own answers `program @MLton show-sources`, so `mlprof program
// mlmon.out` works on it.  For any other program give mlprof the file `mlmon.out.sources`, which is
// written beside the profile.
//
// Thread safe; not to be called in signal handlers or inside malloc.
#ifndef ALLOMON_TRACKER_PROFILE_PROFILE_H_
#define ALLOMON_TRACKER_PROFILE_PROFILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tracker/formats/mlmon.h"
#include "tracker/profile/profile_data.h"
#include "tracker/profile/record/unit_name.h"
#include "tracker/profile/source_function.h"

namespace allomon {

struct ProfileOptions {
  // - kAlloc: bytes; needs a heap that reports its allocations, such as //allocator:malloc.
  // - kTime: processor time of every thread, in hundredths of a second.
  // - kCount: entries into functions.
  ProfileKind kind = ProfileKind::kAlloc;
  // kStack: also counts the use while a function was anywhere on the stack.
  ProfileStyle style = ProfileStyle::kCurrent;
  // kAlloc: samples per word.  1 samples every block, so the numbers are exact.
  double rate = 1;
  // kAlloc: the seed of the sampler.  Default: unpredictable.
  std::optional<uint64_t> seed;
  // kTime: the number of times per second of a thread's time that its function is looked up, 1 to
  // 10,000.  The kernel does not look more often than at its own tick (250 or 1,000 per second).
  uint32_t hz = 100;
};

class Profile {
 public:
  // From now on the use of every thread is charged to the thread's current unit of data.  A profile
  // of another kind or style than the last begins with all units empty; a profile of the same kind
  // and style goes on.  Fails with
  //   kFailedPrecondition  the profile is on; or kCount in a program with no functions
  //   kInvalidArgument     a rate outside [0, 1], hz outside [1, 10000]
  //   kUnavailable         entry hooks are wanted, but there are other threads already, or
  //                        the system forbids changing code; or the system refuses timers
  static absl::Status Start(const ProfileOptions& options = {});
  // Fails with kFailedPrecondition when the profile is off.
  static absl::Status Stop();
  static bool IsOn();

  // Makes an empty unit.  Fails with kResourceExhausted beyond 65,535 units.
  static absl::StatusOr<ProfileData> Malloc();
  // Ends a unit and drops its counts.  Fails with kFailedPrecondition for a unit that was freed
  // before, is current in some thread, or is the default unit.
  static absl::Status Free(ProfileData data);
  // The calling thread's current unit.
  static ProfileData Current();

  // Writes a unit, all threads together, to `path`, atomically.  A program without functions of its
  // own gets `path`.sources beside it.  Callable while the profile is on; functions on the stack
  // are then counted up to now.  Fails with kFailedPrecondition for a freed unit.  Fails with
  // kUnavailable if the file cannot be written, with one line that names the file, the cause and
  // the remedy; an older file survives.
  static absl::Status Write(const std::string& path, ProfileData data = {});

  // Calls f() with `data` current in this thread, and restores the previous unit, also when f
  // throws.  Functions that are on the stack before the call do not count as on the stack for
  // `data`.  Fails with kFailedPrecondition without calling f if `data` was freed.  Fails with
  // kFailedPrecondition after f if the outer unit was freed meanwhile; the thread is then in the
  // default unit.
  template <typename Function>
  static absl::Status WithData(ProfileData data, Function f);

  // "12,345 bytes allocated +- 678 (95 %), rate 0.0001 per word, seed 42"; "" for a freed unit.
  static std::string Summary(ProfileData data = {});
};

// Like WithData(), for the rest of a block.
class ScopedProfileData {
 public:
  explicit ScopedProfileData(ProfileData data);
  ~ScopedProfileData();
  ScopedProfileData(const ScopedProfileData&) = delete;
  ScopedProfileData& operator=(const ScopedProfileData&) = delete;

  // The result of the switch.  If the switch failed, the unit did not change.
  const absl::Status& status() const { return status_; }
  // Switches back before the end of the block.  Fails as WithData() does after f.
  absl::Status Restore();

 private:
  absl::Status status_;
  bool switched_ = false;
  internal::SavedUnit saved_;
};

template <typename Function>
absl::Status Profile::WithData(ProfileData data, Function f) {
  ScopedProfileData scope(data);
  if (!scope.status().ok()) return scope.status();
  f();
  return scope.Restore();
}

}  // namespace allomon

#endif  // ALLOMON_TRACKER_PROFILE_PROFILE_H_

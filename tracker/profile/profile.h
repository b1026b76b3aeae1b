// MLton's profiler for C++: by source function, what a program allocates, where it spends its time,
// or how often it calls; written as mlmon.out for mlprof.
//
//   allomon::Profile::Start();              // every block; see ProfileOptions
//   ...
//   allomon::Profile::Stop();
//   allomon::Profile::Write("mlmon.out");
//
// Functions are those that say ALLOMON_FUNCTION() and those compiled with entry hooks (README.md,
// "Entry hooks"); a program without any is attributed by its symbol tables.  An executable with
// functions of its own answers `program @MLton show-sources`, so `mlprof program mlmon.out` works
// on it; for any other give mlprof the file `mlmon.out.sources`, which is written beside the
// profile.
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
  // - kAlloc: bytes; needs a heap that reports, such as //allocator:malloc.
  // - kTime: processor time of every thread, in hundredths of a second.
  // - kCount: entries into functions.
  ProfileKind kind = ProfileKind::kAlloc;
  // kStack: also what was used while a function was anywhere on the stack.
  ProfileStyle style = ProfileStyle::kCurrent;
  // kAlloc: samples per word; 1 sees every block, so the numbers are exact.
  double rate = 1;
  // kAlloc.  Default: unpredictable.
  std::optional<uint64_t> seed;
  // kTime: how often a thread's function is looked up per second of its time, 1 to 10,000.  The
  // kernel does not look more often than at its own tick (250 or 1,000 per second).
  uint32_t hz = 100;
};

class Profile {
 public:
  // What every thread uses from now on goes to its current unit of data.  A profile of another kind
  // or style than the last begins with all units empty, one of the same goes on.  Fails with
  //   kFailedPrecondition  on; kCount with no functions
  //   kInvalidArgument     a rate outside [0, 1], hz outside [1, 10000]
  //   kUnavailable         entry hooks are wanted, but there are other threads already, or
  //                        the system forbids changing code; it refuses timers
  static absl::Status Start(const ProfileOptions& options = {});
  // Fails with kFailedPrecondition when off.
  static absl::Status Stop();
  static bool IsOn();

  // An empty unit.  Fails with kResourceExhausted beyond 65,535.
  static absl::StatusOr<ProfileData> Malloc();
  // Ends a unit and what it holds.  Fails with kFailedPrecondition: freed before; current in some
  // thread; the default one.
  static absl::Status Free(ProfileData data);
  // The calling thread's current unit.
  static ProfileData Current();

  // Writes a unit, all threads together, to `path`, atomically; a program without functions of its
  // own gets `path`.sources beside it.  Callable while the profile is on; functions on the stack
  // are then counted up to now.  Fails with kFailedPrecondition for a freed unit, kUnavailable: one
  // line that names the file, the cause and the remedy; an older file survives.
  static absl::Status Write(const std::string& path, ProfileData data = {});

  // Calls f() with `data` current in this thread, and restores what was current, also when f
  // throws.  Functions that are on the stack before are not on it for `data`.  Fails with
  // kFailedPrecondition without calling f if `data` was freed; and after it if the outer unit was
  // freed meanwhile, when the thread is left in the default one.
  template <typename Function>
  static absl::Status WithData(ProfileData data, Function f);

  // "12,345 bytes allocated +- 678 (95 %), rate 0.0001 per word, seed 42"; "" for a freed unit.
  static std::string Summary(ProfileData data = {});
};

// WithData() for the rest of a block.
class ScopedProfileData {
 public:
  explicit ScopedProfileData(ProfileData data);
  ~ScopedProfileData();
  ScopedProfileData(const ScopedProfileData&) = delete;
  ScopedProfileData& operator=(const ScopedProfileData&) = delete;

  // The result of the switch; if it failed, nothing was switched.
  const absl::Status& status() const { return status_; }
  // Switches back before the end of the block.  Fails like WithData() after f.
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

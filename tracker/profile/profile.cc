#include "tracker/profile/profile.h"

#include <mutex>

#include "tracker/profile/alloc_session.h"
#include "tracker/profile/profile_file.h"

namespace allomon {
namespace {

struct State {
  std::mutex mutex;
  internal::SessionId session = 0;  // 0: off
  ProfileOptions options;           // of the last start
};

// Never destroyed: destructors of other static objects may still write a profile.
State& TheState() {
  static State* const state = new State;
  return *state;
}

}  // namespace

absl::Status Profile::Start(const ProfileOptions& options) {
  State& state = TheState();
  std::lock_guard<std::mutex> hold(state.mutex);
  if (state.session != 0) {
    return absl::FailedPreconditionError("Profile::Start: profiling is on; Stop() first");
  }
  const uint64_t seed = options.seed.has_value() ? *options.seed : internal::RandomSeed();
  const internal::StartResult result = StartAllocSession(options.rate, seed);
  switch (result.error) {
    case internal::ControlError::kNone:
      break;
    case internal::ControlError::kBadRate:
      return absl::InvalidArgumentError(
          "Profile::Start: the rate must be a number in [0, 1] (samples per word)");
    default:
      return absl::ResourceExhaustedError(
          "Profile::Start: too many trackers; stop or discard one first");
  }
  state.session = result.id;
  state.options = options;
  state.options.seed = seed;
  return absl::OkStatus();
}

absl::Status Profile::Stop() {
  State& state = TheState();
  std::lock_guard<std::mutex> hold(state.mutex);
  if (state.session == 0) {
    return absl::FailedPreconditionError("Profile::Stop: profiling is off");
  }
  internal::StopAndDiscardSession(state.session);
  state.session = 0;
  return absl::OkStatus();
}

bool Profile::IsOn() {
  State& state = TheState();
  std::lock_guard<std::mutex> hold(state.mutex);
  return state.session != 0;
}

absl::Status Profile::Write(const std::string& path, const ProfileData& data) {
  std::string error;
  if (WriteProfileFile(path, data, &error)) return absl::OkStatus();
  return absl::UnavailableError(error);
}

std::string Profile::Summary(const ProfileData& data) {
  State& state = TheState();
  std::lock_guard<std::mutex> hold(state.mutex);
  return ProfileSummary(data, state.options.rate, state.options.seed.value_or(0));
}

}  // namespace allomon

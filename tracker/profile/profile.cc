#include "tracker/profile/profile.h"

#include "tracker/profile/control/profile_control.h"
#include "tracker/profile/control/profile_file.h"
#include "tracker/profile/record/data_units.h"

namespace allomon {
namespace {

using internal::RecordingError;
using internal::UnitError;

// The text of the status uses MLton's words, where MLton has the error.
absl::Status UnitStatus(UnitError error, const char* action) {
  const std::string text = action;
  switch (error) {
    case UnitError::kNone:
      return absl::OkStatus();
    case UnitError::kFreed:
      return absl::FailedPreconditionError(text + " of freed profile data");
    case UnitError::kCurrent:
      return absl::FailedPreconditionError(text + " of current profile data");
    case UnitError::kDefault:
      return absl::FailedPreconditionError(text + " of the default profile data");
    case UnitError::kTooMany:
      break;
  }
  return absl::ResourceExhaustedError(text + ": too many units of profile data; free some");
}

absl::StatusCode CodeOf(RecordingError error) {
  switch (error) {
    case RecordingError::kNone:
      return absl::StatusCode::kOk;
    case RecordingError::kOn:
    case RecordingError::kOff:
    case RecordingError::kNothingToRecord:
      return absl::StatusCode::kFailedPrecondition;
    case RecordingError::kBadOption:
      return absl::StatusCode::kInvalidArgument;
    case RecordingError::kUnavailable:
      break;
  }
  return absl::StatusCode::kUnavailable;
}

}  // namespace

absl::Status Profile::Start(const ProfileOptions& options) {
  internal::RecordingOptions recording;
  recording.kind = options.kind;
  recording.style = options.style;
  recording.rate = options.rate;
  recording.seed = options.seed;
  recording.hz = options.hz;
  std::string error;
  const RecordingError result = internal::StartRecording(recording, &error);
  if (result == RecordingError::kNone) return absl::OkStatus();
  return absl::Status(CodeOf(result), "Profile::Start: " + error);
}

absl::Status Profile::Stop() {
  if (internal::StopRecording() == RecordingError::kNone) return absl::OkStatus();
  return absl::FailedPreconditionError("Profile::Stop: profiling is off");
}

bool Profile::IsOn() { return internal::IsRecording(); }

absl::StatusOr<ProfileData> Profile::Malloc() {
  internal::UnitName name;
  const UnitError error = internal::MallocUnit(&name);
  if (error != UnitError::kNone) return UnitStatus(error, "malloc");
  return ProfileData(name.slot, name.use);
}

absl::Status Profile::Free(ProfileData data) {
  return UnitStatus(internal::FreeUnit({data.slot(), data.use()}), "free");
}

ProfileData Profile::Current() {
  const internal::UnitName name = internal::CurrentUnit();
  return ProfileData(name.slot, name.use);
}

absl::Status Profile::Write(const std::string& path, ProfileData data) {
  std::string error;
  const UnitError unit_error = WriteProfileFile(path, {data.slot(), data.use()}, &error);
  if (unit_error != UnitError::kNone) return UnitStatus(unit_error, "write");
  return error.empty() ? absl::OkStatus() : absl::UnavailableError(error);
}

std::string Profile::Summary(ProfileData data) { return ProfileSummary({data.slot(), data.use()}); }

ScopedProfileData::ScopedProfileData(ProfileData data) {
  status_ = UnitStatus(internal::SwitchUnit({data.slot(), data.use()}, &saved_), "setCurrent");
  switched_ = status_.ok();
}

ScopedProfileData::~ScopedProfileData() { Restore().IgnoreError(); }

absl::Status ScopedProfileData::Restore() {
  if (!switched_) return absl::OkStatus();
  switched_ = false;
  return UnitStatus(internal::RestoreUnit(saved_), "setCurrent");
}

}  // namespace allomon

#include "allocator/environment/auto_profile_file.h"

#include "allocator/environment/auto_profile_say.h"
#include "allocator/host/host_stderr.h"
#include "allocator/host/writing_reserve.h"
#include "tracker/base/check.h"
#include "tracker/profile/control/profile_file.h"

namespace allomon::internal {

RecordingOptions RecordingFrom(const EnvironmentOptions& options) {
  RecordingOptions recording;
  [[maybe_unused]] const bool is_known = ParseProfile(options.profile, &recording);
  ALLOMON_DCHECK("inv.environment.options", is_known || options.profile.empty());
  ALLOMON_DCHECK("inv.environment.options", options.rate >= 0 && options.rate <= 1);
  ALLOMON_DCHECK_NE("inv.environment.options", options.hz, 0u);
  recording.rate = options.rate;
  recording.seed = options.seed;
  recording.hz = options.hz;
  recording.exclude = options.exclude;
  return recording;
}

std::string NextPath(const AutoProfile& profile) {
  return profile.place.NameNow(ExpandOut(profile.options.out, getpid(), profile.files + 1));
}

namespace {

// The file that mlprof asks for the functions: the executable or the script.
std::string SourcesOf(const AutoProfile& profile, const std::string& path, bool has_all_names) {
  const bool live = RecordingFrom(profile.options).live;
  if (live || !has_all_names || !answers_for_itself.load() || !HasFunctions())
    return path + ".sources";
  const std::string program = PathOfProgram();
  return program.empty() ? "PROGRAM" : program;
}

// Explains a profile that was just written; empty for a profile of time or calls.
std::string WhySoLittle(const AutoProfile& profile) {
  const RecordingOptions recording = RecordingFrom(profile.options);
  if (recording.kind != ProfileKind::kAlloc) return "";
  SeenMemory seen;
  seen.bytes = static_cast<double>(profile.rule.last_total());
  seen.live = recording.live;
  seen.rate = recording.rate;
  seen.mapped = profile.options.mmap;
  return WhySoLittle(seen);
}

}  // namespace

bool WriteFileLocked(AutoProfile& profile, const std::string& path, UnitName unit,
                     Refusal refusal) {
  ALLOMON_DCHECK("inv.reserve.writer", IsWriter());
  const NoSignalsFromWriting quiet;
  std::string error;
  std::string summary;
  std::string against;
  std::string missing_names;
  WriteProfileFile(path, unit, &error, profile.options.summary ? &summary : nullptr, "mlmon",
                   &profile.rule, &against, &missing_names);
  if (!error.empty()) {
    SayLoss(error);
  } else if (!against.empty()) {
    if (profile.options.summary && refusal == Refusal::kSaid) Say(against);
  } else if (profile.options.summary) {
    Say(summary + "; mlprof " + SourcesOf(profile, path, missing_names.empty()) + " " + path);
    if (const std::string why = WhySoLittle(profile); !why.empty()) Say(why);
  }
  if (error.empty() && !missing_names.empty()) Say(missing_names);
  return error.empty() && against.empty();
}

}  // namespace allomon::internal

#include "tracker/profile/write/profile_file.h"

#include <cmath>
#include <cstdio>

#include "tracker/core/control.h"
#include "tracker/formats/write_file.h"
#include "tracker/profile/profile_control.h"
#include "tracker/profile/sources/time_session.h"
#include "tracker/profile/write/attribution.h"

namespace allomon {
namespace {

// Two-sided 95 % of the normal distribution.
constexpr double k95PercentSigmas = 1.96;

std::string WithCommas(double value) {
  char digits[64];
  snprintf(digits, sizeof(digits), "%.0f", value);
  std::string text = digits;
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) {
    text.insert(static_cast<size_t>(i), ",");
  }
  return text;
}

std::string AllocSummary(const AttributedProfile& profile,
                         const internal::RecordingOptions& options) {
  std::string summary = WithCommas(static_cast<double>(profile.mlmon.total)) +
                        (options.live ? " bytes live" : " bytes allocated");
  if (profile.variance > 0) {
    const double half_width = k95PercentSigmas * std::sqrt(profile.variance);
    summary += " +- " + WithCommas(std::ceil(half_width)) + " (95 %)";
  }
  char how[96];
  snprintf(how, sizeof(how), ", rate %g per word, seed %llu", options.rate,
           static_cast<unsigned long long>(options.seed.value_or(0)));
  summary += how;
  if (profile.dropped_bytes > 0) {
    summary += "; missing, for want of memory: samples of " +
               WithCommas(static_cast<double>(profile.dropped_bytes)) + " bytes";
  }
  return summary;
}

std::string TimeSummary(const Mlmon& mlmon, uint32_t hz) {
  char text[96];
  snprintf(text, sizeof(text), "%.2f seconds of CPU time, looked at %u times a second",
           static_cast<double>(mlmon.total + mlmon.total_gc) / 100, hz);
  return text;
}

std::string Summarize(const AttributedProfile& profile) {
  const internal::RecordingOptions options = internal::LastRecording();
  switch (profile.mlmon.kind) {
    case ProfileKind::kAlloc:
      return AllocSummary(profile, options);
    case ProfileKind::kTime:
      return TimeSummary(profile.mlmon, options.hz);
    case ProfileKind::kCount:
      break;
  }
  return WithCommas(static_cast<double>(profile.mlmon.total)) +
         (profile.mlmon.total == 1 ? " call" : " calls");
}

}  // namespace

internal::UnitError WriteProfileFile(const std::string& path, internal::UnitName unit,
                                     std::string* error, std::string* summary) {
  // What reading symbols allocates is ours, and must not appear in the profile.
  const internal::SuspendedSampling suspended;
  internal::ChargeOutstandingTime();
  AttributedProfile profile;
  const internal::UnitError unit_error = Attribute(unit, &profile);
  if (unit_error != internal::UnitError::kNone) return unit_error;
  const std::string mlmon = FormatMlmon(profile.mlmon);
  // For their owner only: names of functions may be nobody else's business.
  std::vector<FileToWrite> files;
  files.reserve(2);
  std::string stub;
  // The sources first: a profile is never newer than what explains it.
  // A device or a pipe has no use for a file beside it.
  if (!profile.self_described && IsReplacedByWriting(path)) {
    stub = FormatSourcesStub(profile.sources, profile.live ? StubOf::kLive : StubOf::kAll);
    files.push_back({path + ".sources", stub, 0700});
  }
  files.push_back({path, mlmon, 0600});
  WriteFilesAtomically(files, error);
  if (summary != nullptr) *summary = Summarize(profile);
  return unit_error;
}

std::string ProfileSummary(internal::UnitName unit) {
  const internal::SuspendedSampling suspended;
  AttributedProfile profile;
  if (Attribute(unit, &profile) != internal::UnitError::kNone) return "";
  return Summarize(profile);
}

}  // namespace allomon

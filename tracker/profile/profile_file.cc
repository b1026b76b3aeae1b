#include "tracker/profile/profile_file.h"

#include <sys/stat.h>

#include <cmath>
#include <cstdio>

#include "tracker/internal/control.h"
#include "tracker/profile/attribution.h"
#include "tracker/profile/write_file.h"

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

Estimate TotalOf(const ProfileData& data) {
  Estimate total;
  const auto add = [&total](uint32_t, const Estimate& bytes) { total.Add(bytes); };
  data.by_function().ForEach(add);
  data.by_stack().ForEach(add);
  return total;
}

// A device, a pipe or a directory has no use for a file beside it.
bool MayHaveFileBeside(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

}  // namespace

bool WriteProfileFile(const std::string& path, const ProfileData& data, std::string* error) {
  // What reading symbols allocates is ours, and must not appear in the profile.
  const internal::SuspendedSampling suspended;
  const AttributedProfile profile = Attribute(data);
  const std::string mlmon = FormatMlmon(profile.mlmon);
  std::vector<FileToWrite> files;
  std::string stub;
  // The sources first: a profile is never newer than what explains it.
  if (!profile.self_described && MayHaveFileBeside(path)) {
    stub = FormatSourcesStub(profile.sources);
    files.push_back({path + ".sources", stub, 0755});
  }
  files.push_back({path, mlmon, 0644});
  return WriteFilesAtomically(files, error);
}

std::string ProfileSummary(const ProfileData& data, double rate, uint64_t seed) {
  const Estimate total = TotalOf(data);
  char how[96];
  snprintf(how, sizeof(how), "rate %g per word, seed %llu", rate,
           static_cast<unsigned long long>(seed));
  std::string summary = WithCommas(std::round(total.value)) + " bytes allocated";
  if (total.variance > 0) {
    summary += " +- " + WithCommas(std::ceil(total.HalfWidth(k95PercentSigmas))) + " (95 %)";
  }
  return summary + ", " + how;
}

}  // namespace allomon

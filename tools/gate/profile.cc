#include "tools/gate/profile.h"

#include <cmath>

#include "tools/gate/figures.h"

namespace allomon::gate {
namespace {

Site ReadSite(const Json& json) {
  Site site;
  site.allocations = json.at("allocations").get<double>();
  site.bytes = json.at("bytes").get<double>();
  for (const Json& frame : json.at("frames")) {
    site.frames.push_back({frame.at("function").get<std::string>(),
                           frame.at("file").get<std::string>(), frame.at("line").get<int>()});
  }
  return site;
}

// Compares with tolerance, because numbers were divided by the iterations and written as decimals.
bool IsAbout(double a, double b) { return std::abs(a - b) < 0.5; }

}  // namespace

absl::StatusOr<Profile> Profile::Read(const std::string& path) {
  const auto json = ReadJson(path);
  if (!json.ok()) return json.status();
  Profile profile;
  profile.path_ = path;
  try {
    if (json->at("allomon_gate_profile").get<int>() != 1) {
      return FileError(path, "a profile of a later version");
    }
    for (const Json& written : json->at("passes")) {
      Pass& pass = profile.passes_.emplace_back();
      pass.allocations = written.at("allocations").get<double>();
      pass.bytes = written.at("bytes").get<double>();
      pass.peak_bytes = written.at("peak_bytes").get<double>();
      for (const Json& site : written.at("sites")) pass.sites.push_back(ReadSite(site));
    }
  } catch (const Json::exception&) {
    return FileError(path, "not a profile of benchmarks (ALLOMON_GATE_PROFILE writes one)");
  }
  return profile;
}

absl::Status Profile::TakePassOf(Figures* figures) {
  const double allocations = figures->values[kAllocations].value_or(-1) * figures->iterations;
  const double bytes = figures->values[kBytes].value_or(-1) * figures->iterations;
  for (Pass& pass : passes_) {
    if (pass.used || !IsAbout(pass.allocations, allocations) || !IsAbout(pass.bytes, bytes) ||
        !IsAbout(pass.peak_bytes, figures->values[kPeakBytes].value_or(-1))) {
      continue;
    }
    pass.used = true;
    figures->sites = pass.sites;
    for (Site& site : figures->sites) {
      site.allocations /= figures->iterations;
      site.bytes /= figures->iterations;
    }
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the profile " + path_ + " is of another run");
}

}  // namespace allomon::gate

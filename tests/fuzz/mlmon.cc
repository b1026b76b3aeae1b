// mlmon.out, and the script with its functions: accepted input is written as a file that can be
// read again, and every format can export it.
#include "tracker/formats/mlmon.h"

#include "tests/fuzz/imported.h"

namespace allomon::fuzz {
namespace {

// The script follows the profile, so that both get damaged.
constexpr std::string_view kSeam = "#!/bin/sh";

bool CheckProfile(std::string_view text) {
  Mlmon profile;
  std::string error;
  if (!ParseMlmon(text, &profile, &error)) {
    Require(!error.empty(), "a refusal has a reason");
    return false;
  }
  const std::string canonical = FormatMlmon(profile);
  Mlmon again;
  Require(ParseMlmon(canonical, &again, &error), "what was written is read", error);
  Require(FormatMlmon(again) == canonical, "what was written and read is the same", canonical);
  // Sums beyond 127 bits are refused.
  if (!MergeMlmon(again, &profile, &error)) RequireOneLine(error);
  return true;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const auto& profile :
       {interchange::testing::OddProfile(), interchange::testing::LargeProfile(5)}) {
    const auto files = interchange::FindExportFormat("mlmon")->run(profile, heap::Metric::kLive);
    seeds.push_back(files->back().bytes + files->front().bytes);
  }
  return seeds;
}

}  // namespace allomon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace allomon;
  const std::string_view text = fuzz::TextOf(data, size);
  const size_t seam = text.find(fuzz::kSeam);
  const std::string_view profile = text.substr(0, seam);
  const std::string_view script = seam == text.npos ? "" : text.substr(seam);
  const bool is_accepted = fuzz::CheckProfile(profile);
  fuzz::CheckImported(interchange::ImportMlmon(profile, script), text);
  return fuzz::Done(is_accepted);
}

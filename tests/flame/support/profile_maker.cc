#include "tests/flame/support/profile_maker.h"

namespace allomon::flame {
namespace {

bool IsInlined(const MadeFrame& frame) { return frame.name[0] == '~'; }

std::string KeyOf(const MadeStack& frames) {
  std::string key;
  for (const MadeFrame& frame : frames) {
    key += frame.name + "\t" + frame.file + "\t" + std::to_string(frame.line) + frame.module + "\n";
  }
  return key;
}

// Groups the frames that share one machine frame: a function, and the functions inlined into it.
std::vector<MadeStack> Locations(const MadeStack& stack) {
  std::vector<MadeStack> locations;
  for (const MadeFrame& frame : stack) {
    if (!IsInlined(frame) || locations.empty()) locations.emplace_back();
    locations.back().push_back(frame);
  }
  return locations;
}

}  // namespace

ProfileMaker::ProfileMaker(double rate) {
  profile_.rate = rate;
  profile_.has[0] = profile_.has[1] = profile_.has[2] = profile_.has[3] = true;
  profile_.origin = "recording";
}

void ProfileMaker::Add(const MadeStack& stack, uint64_t size_bytes,
                       const std::array<heap::Amount, heap::kMetrics>& amounts) {
  heap::Sample sample;
  for (const MadeStack& frames : Locations(stack)) {
    sample.stack.insert(sample.stack.begin(), LocationOf(frames));
  }
  sample.size_bytes = size_bytes;
  sample.has_size = true;
  sample.amounts = amounts;
  profile_.samples.push_back(sample);
}

uint32_t ProfileMaker::FunctionOf(const MadeFrame& frame) {
  const auto number = static_cast<uint32_t>(profile_.functions.size());
  const auto [found, is_new] = functions_.emplace(frame.name + "\t" + frame.file, number);
  if (is_new) {
    profile_.functions.push_back({frame.name.substr(IsInlined(frame) ? 1 : 0), "", frame.file, 0});
  }
  return found->second;
}

uint32_t ProfileMaker::MappingOf(const std::string& module) {
  if (module.empty()) return heap::kNone;
  const auto number = static_cast<uint32_t>(profile_.mappings.size());
  const auto [found, is_new] = mappings_.emplace(module, number);
  if (is_new) profile_.mappings.push_back({0, 0, 0, module, ""});
  return found->second;
}

uint32_t ProfileMaker::LocationOf(const MadeStack& frames) {
  const auto number = static_cast<uint32_t>(profile_.locations.size());
  const auto [found, is_new] = locations_.emplace(KeyOf(frames), number);
  if (!is_new) return found->second;
  heap::Location location;
  location.mapping = MappingOf(frames[0].module);
  for (const MadeFrame& frame : frames) {
    location.lines.insert(location.lines.begin(), {FunctionOf(frame), frame.line});
  }
  profile_.locations.push_back(location);
  return number;
}

}  // namespace allomon::flame

// Writes speedscope's file format: frames once, and for each metric a profile of weighted stacks.
#include <string>

#include "tools/export/exporters.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"
#include "tracker/formats/version.h"

namespace allomon::interchange {
namespace {

using heap::Metric;

Json FrameJson(const Frame& frame) {
  Json json = {{"name", frame.name}};
  if (!frame.file.empty()) json["file"] = frame.file;
  if (frame.start_line != 0) json["line"] = frame.start_line;
  return json;
}

Json ProfileJson(const Stacks& stacks, Metric metric) {
  Json samples = Json::array();
  Json weights = Json::array();
  for (const Stack& stack : stacks.stacks) {
    if (stack[metric].bytes == 0) continue;
    samples.push_back(stack.frames);
    weights.push_back(stack[metric].bytes);
  }
  return {{"type", "sampled"},
          {"name", heap::MetricName(metric)},
          {"unit", "bytes"},
          {"startValue", 0},
          {"endValue", stacks.Total(metric).bytes},
          {"samples", std::move(samples)},
          {"weights", std::move(weights)}};
}

}  // namespace

Exported ToSpeedscope(const heap::HeapProfile& profile, Metric metric) {
  const Stacks stacks = StacksOf(profile, Detail::kFunctions);
  Json frames = Json::array();
  for (const Frame& frame : stacks.frames) frames.push_back(FrameJson(frame));
  Json profiles = Json::array();
  size_t active = 0;
  for (size_t i = 0; i < heap::kMetrics; ++i) {
    if (!profile.has[i]) continue;
    if (static_cast<Metric>(i) == metric) active = profiles.size();
    profiles.push_back(ProfileJson(stacks, static_cast<Metric>(i)));
  }
  return OneFile(JsonText({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                           {"shared", {{"frames", std::move(frames)}}},
                           {"profiles", std::move(profiles)},
                           {"name", profile.program.empty() ? "heap profile" : profile.program},
                           {"activeProfileIndex", active},
                           {"exporter", std::string("allomon ") + kVersion}}));
}

}  // namespace allomon::interchange

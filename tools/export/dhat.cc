// Writes the JSON of valgrind's DHAT, for its dh_view.html: dhatFileVersion 2.
//
// The unit of time is the microsecond.  DHAT records the largest amount of each stack.  A heap
// profile has a stack's amounts at the program's peak and at its end, so the larger of these is
// written.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tools/export/exporters.h"
#include "tools/export/frames.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/named_stacks.h"

namespace allomon::interchange {
namespace {

using heap::AgeCell;
using heap::HeapProfile;
using heap::Metric;

constexpr int kFileVersion = 2;
constexpr int kShortLifeMicros = 500;  // DHAT's limit of a short life
constexpr double kMiddle = 1.5;        // ages in a cell are 2^k to 2^(k+1)

double Micros(double seconds) { return std::round(seconds * 1e6); }

// Returns the sum over all blocks.
double LifetimeMicros(const std::vector<AgeCell>& cells) {
  double micros = 0;
  for (const AgeCell& cell : cells) {
    micros += std::ldexp(kMiddle, cell.log2_nanos) / 1e3 * std::max(cell.amount.blocks, 0.0);
  }
  return micros;
}

// Returns lifetimes by stack.  Limits them, because no block lives longer than the program.
std::vector<double> LifetimesOf(const HeapProfile& profile, const Stacks& stacks, Metric total) {
  std::vector<double> lifetimes(stacks.stacks.size(), 0);
  for (size_t i = 0; i < profile.samples.size(); ++i) {
    lifetimes[stacks.stack_of_sample[i]] +=
        LifetimeMicros(profile.samples[i].deaths) + LifetimeMicros(profile.samples[i].ages);
  }
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const auto blocks = static_cast<double>(stacks.stacks[i][total].blocks);
    lifetimes[i] = std::round(std::min(lifetimes[i], blocks * Micros(profile.duration_seconds)));
  }
  return lifetimes;
}

// Returns at least 1 for bytes without blocks, because the viewer divides bytes by blocks.
int64_t BlocksOf(const Counts& counts) {
  return counts.bytes > 0 ? std::max<int64_t>(counts.blocks, 1) : counts.blocks;
}

struct Shape {
  bool has_lifetimes = false;  // the viewer's word; includes the peak and the end
  Metric total = Metric::kAllocated;
};

// A profile without allocated bytes gets one column.
Shape ShapeOf(const HeapProfile& profile, Metric metric) {
  Shape shape;
  shape.has_lifetimes = Has(profile, Metric::kAllocated) &&
                        (Has(profile, Metric::kPeak) || Has(profile, Metric::kLive));
  if (!shape.has_lifetimes) shape.total = metric;
  return shape;
}

Json PointJson(const Stack& stack, const Shape& shape, double lifetime) {
  const Counts& total = stack[shape.total];
  Json json = {{"tb", total.bytes}, {"tbk", BlocksOf(total)}};
  if (shape.has_lifetimes) {
    const Counts& peak = stack[Metric::kPeak];
    const Counts& end = stack[Metric::kLive];
    const Counts& most = peak.bytes > end.bytes ? peak : end;
    json.update({{"tl", lifetime},
                 {"mb", most.bytes},
                 {"mbk", BlocksOf(most)},
                 {"gb", peak.bytes},
                 {"gbk", BlocksOf(peak)},
                 {"eb", end.bytes},
                 {"ebk", BlocksOf(end)}});
  }
  json["fs"] = std::vector<uint32_t>(stack.frames.rbegin(), stack.frames.rend());
  for (Json& frame : json["fs"]) frame = frame.get<uint32_t>() + 1;  // 0 is the root
  return json;
}

bool IsEmpty(const Stack& stack, const Shape& shape) {
  int64_t bytes = stack[shape.total].bytes;
  if (shape.has_lifetimes) bytes |= stack[Metric::kPeak].bytes | stack[Metric::kLive].bytes;
  return bytes == 0;
}

Json PointsJson(const HeapProfile& profile, const Stacks& stacks, const Shape& shape) {
  const std::vector<double> lifetimes = LifetimesOf(profile, stacks, shape.total);
  Json points = Json::array();
  for (size_t i = 0; i < stacks.stacks.size(); ++i) {
    if (IsEmpty(stacks.stacks[i], shape)) continue;
    points.push_back(PointJson(stacks.stacks[i], shape, lifetimes[i]));
  }
  return points;
}

Json FramesJson(const HeapProfile& profile, const Stacks& stacks) {
  Json frames = {"[root]"};
  for (const Frame& frame : stacks.frames) frames.push_back(FrameText(profile, frame));
  return frames;
}

std::string VerbOf(const Shape& shape) {
  return shape.total == Metric::kAllocated
             ? "Allocated"
             : std::string("Counted (") + heap::MetricName(shape.total) + ")";
}

}  // namespace

Exported ToDhat(const HeapProfile& profile, Metric metric) {
  const Shape shape = ShapeOf(profile, metric);
  const Stacks stacks = StacksOf(profile, Detail::kLines);
  Json json = {{"dhatFileVersion", kFileVersion},
               {"mode", "heap"},
               {"verb", VerbOf(shape)},
               {"bklt", shape.has_lifetimes},
               {"bkacc", false},
               {"tu", "µs"},
               {"Mtu", "s"},
               {"cmd", profile.command.empty() ? profile.program : profile.command},
               {"pid", profile.pid},
               {"te", Micros(profile.duration_seconds)}};
  if (shape.has_lifetimes) {
    json["tuth"] = kShortLifeMicros;
    json["tg"] = Micros(profile.peak_seconds);
  }
  json["pps"] = PointsJson(profile, stacks, shape);
  json["ftbl"] = FramesJson(profile, stacks);
  return OneFile(JsonText(json));
}

}  // namespace allomon::interchange

// The Firefox Profiler's format: what its own check of profiles asks for, and our totals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/interchange/example_profile.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using Json = nlohmann::json;

// ---- The format's rules

// Each column of a table is as long as it says.
void CheckColumns(const Json& table, const std::set<std::string>& names) {
  const auto length = table.at("length").get<size_t>();
  for (const std::string& name : names) {
    ASSERT_TRUE(table.contains(name)) << name;
    EXPECT_EQ(table.at(name).size(), length) << name;
  }
}

void CheckIndices(const Json& column, const Json& table) {
  const auto length = table.is_array() ? table.size() : table.at("length").get<size_t>();
  for (const Json& index : column) {
    if (index.is_null() || index == -1) continue;
    ASSERT_TRUE(index.is_number_unsigned()) << index;
    ASSERT_LT(index.get<size_t>(), length);
  }
}

void CheckShared(const Json& profile) {
  const Json& shared = profile.at("shared");
  const Json &texts = shared.at("stringArray"), &stacks = shared.at("stackTable"),
             &frames = shared.at("frameTable"), &functions = shared.at("funcTable"),
             &resources = shared.at("resourceTable"), &sources = shared.at("sources");
  CheckColumns(stacks, {"frame", "prefix"});
  CheckColumns(frames, {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol",
                        "innerWindowID", "line", "column"});
  CheckColumns(functions, {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                           "columnNumber"});
  CheckColumns(resources, {"lib", "name", "host", "type"});
  CheckColumns(sources, {"uuid", "filename"});
  CheckColumns(shared.at("nativeSymbols"), {"libIndex", "address", "name", "functionSize"});
  CheckIndices(stacks.at("frame"), frames);
  for (size_t i = 0; i < stacks.at("prefix").size(); ++i) {
    const Json& caller = stacks.at("prefix")[i];
    EXPECT_TRUE(caller.is_null() || caller.get<size_t>() < i) << "callers come first";
  }
  CheckIndices(frames.at("func"), functions);
  CheckIndices(functions.at("name"), texts);
  CheckIndices(functions.at("resource"), resources);
  CheckIndices(functions.at("source"), sources);
  CheckIndices(resources.at("lib"), profile.at("libs"));
  CheckIndices(resources.at("name"), texts);
  CheckIndices(sources.at("filename"), texts);
}

// Times never fall, and lie in the range that the viewer shows, whose end is exclusive.
void CheckTimes(const Json& times, const Json& profile) {
  double last = profile.at("meta").at("profilingStartTime").get<double>();
  for (const Json& time : times) {
    ASSERT_TRUE(time.is_number());
    EXPECT_GE(time.get<double>(), last);
    last = time.get<double>();
    EXPECT_LT(last, profile.at("meta").at("profilingEndTime").get<double>());
  }
}

void CheckThread(const Json& thread, const Json& profile) {
  CheckColumns(thread.at("samples"), {"stack", "time"});
  const Json& markers = thread.at("markers");
  CheckColumns(markers, {"data", "name", "startTime", "endTime", "phase", "category"});
  CheckIndices(markers.at("name"), profile.at("shared").at("stringArray"));
  CheckTimes(markers.at("startTime"), profile);
  if (!thread.contains("nativeAllocations")) return;
  const Json& allocations = thread.at("nativeAllocations");
  CheckColumns(allocations, {"time", "stack", "weight"});
  CheckIndices(allocations.at("stack"), profile.at("shared").at("stackTable"));
  CheckTimes(allocations.at("time"), profile);
  EXPECT_GT(allocations.at("length"), 0) << "the viewer reads the first time";
  EXPECT_EQ(allocations.at("weightType"), "bytes");
  EXPECT_EQ(thread.at("samples").at("length"), 0) << "the viewer would show time first";
}

Json Exported(const HeapProfile& profile, Metric metric = Metric::kLive) {
  const std::string text = testing::Export("firefox", profile, metric);
  EXPECT_EQ(text, testing::Export("firefox", profile, metric)) << "the same profile and bytes";
  Json json = Json::parse(text);
  EXPECT_EQ(json.at("meta").at("preprocessedProfileVersion"), 60);
  CheckShared(json);
  size_t mains = 0;
  for (const Json& thread : json.at("threads")) {
    CheckThread(thread, json);
    mains += thread.at("isMainThread") ? 1 : 0;
  }
  EXPECT_EQ(mains, 1u);
  for (const Json& counter : json.at("counters")) {
    CheckColumns(counter.at("samples"), {"time", "count"});
    CheckTimes(counter.at("samples").at("time"), json);
    EXPECT_EQ(counter.at("pid"), json.at("threads")[0].at("pid"));
  }
  return json;
}

double TotalOf(const Json& thread) {
  double total = 0;
  for (const Json& weight : thread.at("nativeAllocations").at("weight")) {
    total += weight.get<double>();
  }
  return total;
}

// Bytes of functions by name, as in testing::CostsOf().
std::map<std::string, testing::Cost> CostsOf(const Json& profile, const Json& thread) {
  const Json& shared = profile.at("shared");
  const auto name_of = [&shared](size_t stack) {
    const auto frame = shared.at("stackTable").at("frame")[stack].get<size_t>();
    const auto function = shared.at("frameTable").at("func")[frame].get<size_t>();
    const auto name = shared.at("funcTable").at("name")[function].get<size_t>();
    return shared.at("stringArray")[name].get<std::string>();
  };
  std::map<std::string, testing::Cost> costs;
  const Json& allocations = thread.at("nativeAllocations");
  for (size_t i = 0; i < allocations.at("length"); ++i) {
    const auto bytes = allocations.at("weight")[i].get<double>();
    Json stack = allocations.at("stack")[i];
    costs[name_of(stack.get<size_t>())].self += bytes;
    std::set<std::string> names;
    for (; !stack.is_null(); stack = shared.at("stackTable").at("prefix")[stack.get<size_t>()]) {
      names.insert(name_of(stack.get<size_t>()));
    }
    for (const std::string& name : names) costs[name].inclusive += bytes;
  }
  return costs;
}

// ---- Tests

TEST(FirefoxTest, AThreadForEachMetricHasItsTotal) {
  const Metric metrics[] = {Metric::kPeak, Metric::kAllocated, Metric::kLive, Metric::kTemporary};
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(300)}) {
    const Json json = Exported(profile, Metric::kPeak);
    ASSERT_EQ(json.at("threads").size(), 4u);
    EXPECT_EQ(json.at("meta").at("initialVisibleThreads"), Json({0, 1, 2, 3}));
    for (size_t i = 0; i < 4; ++i) {
      const Json& thread = json.at("threads")[i];
      EXPECT_EQ(thread.at("name"), heap::MetricName(metrics[i]));
      EXPECT_EQ(TotalOf(thread), std::llround(testing::TotalBytes(profile, metrics[i])));
    }
  }
}

TEST(FirefoxTest, FunctionsHaveTheirBytes) {
  const HeapProfile profile = testing::LargeProfile(300);
  const Json json = Exported(profile);
  const auto expected = testing::CostsOf(profile, Metric::kLive);
  const auto costs = CostsOf(json, json.at("threads")[0]);
  EXPECT_GT(costs.size(), 100u);
  for (const auto& [name, cost] : costs) {
    EXPECT_NEAR(cost.self, expected.at(name).self, 300) << name;
    EXPECT_NEAR(cost.inclusive, expected.at(name).inclusive, 300) << name;
  }
}

TEST(FirefoxTest, FunctionsHaveFilesLinesAndLibraries) {
  const Json json = Exported(testing::OddProfile());
  const Json& shared = json.at("shared");
  const Json& texts = shared.at("stringArray");
  const Json& functions = shared.at("funcTable");
  EXPECT_EQ(texts[functions.at("name")[0].get<size_t>()], "main");
  EXPECT_EQ(functions.at("lineNumber")[0], 10);
  const auto source = functions.at("source")[0].get<size_t>();
  EXPECT_EQ(texts[shared.at("sources").at("filename")[source].get<size_t>()], "src/main.cc");
  EXPECT_EQ(shared.at("frameTable").at("line")[0], 11);
  EXPECT_EQ(json.at("libs")[0].at("path"), "/usr/bin/an example");
  EXPECT_EQ(json.at("libs")[0].at("codeId"), "abcdef0123");
  EXPECT_EQ(json.at("meta").at("product"), "an");
}

TEST(FirefoxTest, MemoryTrackIsTheTimeline) {
  HeapProfile profile = testing::OddProfile();
  Json samples = Exported(profile).at("counters").at(0).at("samples");
  EXPECT_EQ(samples.at("time"), Json({0.0, 500.0, 1250.0, 2500.0}));
  EXPECT_EQ(samples.at("count"), Json({0.0, 5e5, 4e5, -5e5}));
  profile.peak_seconds = 1.5;  // between two points
  samples = Exported(profile).at("counters").at(0).at("samples");
  EXPECT_EQ(samples.at("time"), Json({0.0, 500.0, 1250.0, 1500.0, 2500.0}));
  EXPECT_EQ(samples.at("count"), Json({0.0, 5e5, 4e5, -1e5, -4e5}));
  profile.timeline.clear();
  EXPECT_EQ(Exported(profile).at("counters").size(), 0u);
}

TEST(FirefoxTest, PeakHasAMarkerAndItsRowsTheTime) {
  HeapProfile profile = testing::OddProfile();
  const Json json = Exported(profile);
  const Json& markers = json.at("threads")[0].at("markers");
  ASSERT_EQ(markers.at("length"), 1);
  EXPECT_EQ(markers.at("startTime")[0], 1250.0);
  EXPECT_EQ(markers.at("data")[0].at("bytes"),
            std::llround(testing::TotalBytes(profile, Metric::kPeak)));
  EXPECT_EQ(markers.at("data")[0].at("type"), json.at("meta").at("markerSchema")[0].at("name"));
  EXPECT_EQ(json.at("threads")[2].at("name"), "peak");
  EXPECT_EQ(json.at("threads")[2].at("nativeAllocations").at("time")[0], 1250.0);
  profile.is_sum = true;  // whose peaks were at several times
  EXPECT_EQ(Exported(profile).at("threads")[0].at("markers").at("length"), 0);
}

TEST(FirefoxTest, LiveMemoryHasTheTimeOfItsBirth) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.duration_seconds = 100;
  profile.samples[0][Metric::kLive] = {10, 1000};
  // Classes of 0.54 to 1.07 s and of 63.0 to 68.7 s, and one that is older than the recording.
  profile.samples[0].ages = {
      {20, 29, false, {2, 200.4}}, {20, 35, false, {5, 500.4}, 8}, {20, 60, false, {1, 100}}};
  const Json rows = Exported(profile).at("threads")[0].at("nativeAllocations");
  EXPECT_EQ(rows.at("weight"), Json({100, 500, 201, 199})) << "200 are of no class";
  EXPECT_EQ(rows.at("time")[0], 0.0);
  EXPECT_NEAR(rows.at("time")[1].get<double>(), 100'000 - 66'000, 2000);
  EXPECT_NEAR(rows.at("time")[2].get<double>(), 100'000 - 805, 1);
  EXPECT_EQ(rows.at("time")[3], 100'000.0);
  profile.is_sum = true;  // whose processes had ends of their own
  EXPECT_EQ(Exported(profile).at("threads")[0].at("nativeAllocations").at("length"), 1);
}

TEST(FirefoxTest, EmptyProfiles) {
  HeapProfile profile;
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  const Json json = Exported(profile);
  ASSERT_EQ(json.at("threads").size(), 1u);
  EXPECT_FALSE(json.at("threads")[0].contains("nativeAllocations"));
  profile.samples.resize(1);
  profile.samples[0][Metric::kLive] = {1, 16};
  EXPECT_EQ(TotalOf(Exported(profile).at("threads")[0]), 16);
}

TEST(FirefoxTest, HugeStacks) {
  HeapProfile profile = testing::LargeProfile(2);
  profile.samples[0].stack.assign(50'000, 5);
  const Json json = Exported(profile);
  EXPECT_GE(json.at("shared").at("stackTable").at("length"), 50'000);
}

TEST(FirefoxTest, NumbersThatAreNone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double odd : {kInfinity, -kInfinity, std::nan(""), -5.0, 1e300}) {
    HeapProfile profile = testing::OddProfile();
    profile.duration_seconds = profile.peak_seconds = odd;
    profile.samples[0][Metric::kLive] = {odd, odd};
    profile.timeline[1] = {odd, odd, odd, odd};
    profile.timeline[3] = {odd, odd, odd, odd};
    profile.samples[1].ages = {{0, 255, false, {odd, odd}, 255}, {0, 0, false, {odd, odd}}};
    Exported(profile);
  }
}

}  // namespace
}  // namespace allomon::interchange

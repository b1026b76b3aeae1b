// Exports for other viewers: DHAT's (by the rules of valgrind's dh_view.js for loaded files, and
// the values that it shows of ours), mlmon.out, speedscope, Chrome's DevTools, and the formats of
// callgrind and massif.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"
#include "tools/load/import.h"
#include "tracker/formats/mlmon.h"
#include "tracker/formats/source_table.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using Json = nlohmann::json;

void ExpectFields(const Json& json, const std::vector<std::string>& names) {
  for (const std::string& name : names) EXPECT_TRUE(json.contains(name)) << name;
}

// The viewer refuses a file in which two points have the same frames.
void CheckPoints(const Json& file) {
  std::set<std::vector<size_t>> stacks;
  for (const Json& point : file.at("pps")) {
    ExpectFields(point, {"tb", "tbk", "fs"});
    if (file.at("bklt")) ExpectFields(point, {"tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"});
    const auto frames = point.at("fs").get<std::vector<size_t>>();
    EXPECT_TRUE(stacks.insert(frames).second) << "a repeated location";
    for (const size_t frame : frames) {
      EXPECT_GT(frame, 0u) << "is the root";
      EXPECT_LT(frame, file.at("ftbl").size());
    }
  }
}

Json Checked(const std::string& text) {
  const Json file = Json::parse(text);
  ExpectFields(file, {"dhatFileVersion", "mode", "verb", "bklt", "bkacc", "tu", "Mtu", "cmd", "pid",
                      "te", "pps", "ftbl"});
  EXPECT_EQ(file.at("dhatFileVersion"), 2);
  EXPECT_EQ(file.at("bkacc"), false);
  if (file.at("bklt")) ExpectFields(file, {"tg", "tuth"});
  EXPECT_EQ(file.at("ftbl")[0], "[root]");
  CheckPoints(file);
  return file;
}

double Sum(const Json& file, const char* field) {
  double sum = 0;
  for (const Json& point : file.at("pps")) sum += point.at(field).get<double>();
  return sum;
}

TEST(DhatTest, KeepsTheViewersRulesAndOurTotals) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(300)}) {
    const Json file = Checked(testing::Export("dhat", profile, Metric::kLive));
    EXPECT_EQ(file.at("bklt"), true);
    EXPECT_EQ(Sum(file, "tb"), std::llround(testing::TotalBytes(profile, Metric::kAllocated)));
    EXPECT_EQ(Sum(file, "gb"), std::llround(testing::TotalBytes(profile, Metric::kPeak)));
    EXPECT_EQ(Sum(file, "eb"), std::llround(testing::TotalBytes(profile, Metric::kLive)));
    EXPECT_NEAR(Sum(file, "tbk"), testing::TotalBlocks(profile, Metric::kAllocated), 1);
    EXPECT_EQ(file.at("te"), 2500000);
    EXPECT_EQ(file.at("tg"), 1250000);
  }
}

// A line that is not known was line 0.
TEST(DhatTest, AFileWithoutALineHasNone) {
  HeapProfile profile = testing::LargeProfile(1);
  for (heap::Location& location : profile.locations) {
    for (heap::Line& line : location.lines) line.line = 0;
  }
  const std::string frames =
      Checked(testing::Export("dhat", profile, Metric::kLive))["ftbl"].dump();
  EXPECT_NE(frames.find(".cc)"), frames.npos) << frames;
  EXPECT_EQ(frames.find(":0)"), frames.npos) << frames;
}

TEST(DhatTest, FramesBeginAtTheInnermost) {
  const Json file = Checked(testing::Export("dhat", testing::OddProfile(), Metric::kLive));
  const Json& frames = file.at("pps")[1].at("fs");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(file.at("ftbl")[frames[0].get<size_t>()], "0x400020: f(int) (src/f.cc:21)");
  EXPECT_EQ(file.at("ftbl")[frames[1].get<size_t>()], "0x400010: main (src/main.cc:11)");
}

TEST(DhatTest, NoBlockLivesLongerThanTheProgram) {
  HeapProfile profile = testing::LargeProfile(20);
  for (heap::Sample& sample : profile.samples) sample.ages = {{20, 63, false, {1e6, 1e6}}};
  const Json file = Checked(testing::Export("dhat", profile, Metric::kLive));
  for (const Json& point : file.at("pps")) {
    EXPECT_LE(point.at("tl").get<double>(), point.at("tbk").get<double>() * 2.5e6);
  }
}

TEST(DhatTest, LifetimesAreInMicroseconds) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].deaths = {{0, 20, false, {100, 1600}}};  // a millisecond and a half, about
  profile.samples[0].ages.clear();
  profile.samples[0][Metric::kAllocated] = {100, 1600};
  const Json file = Checked(testing::Export("dhat", profile, Metric::kLive));
  EXPECT_NEAR(file.at("pps")[0].at("tl").get<double>(), 100 * 1.5 * 1048.576, 1);
}

TEST(DhatTest, ProfileOfOneMetricHasOneColumn) {
  HeapProfile profile = testing::LargeProfile(50);
  profile.has = {};
  profile.has[static_cast<size_t>(Metric::kLive)] = true;
  const Json file = Checked(testing::Export("dhat", profile, Metric::kLive));
  EXPECT_EQ(file.at("bklt"), false);
  EXPECT_EQ(Sum(file, "tb"), std::llround(testing::TotalBytes(profile, Metric::kLive)));
}

// mlmon.out has the bytes of functions, with and without those of their callees.

using ::testing::HasSubstr;

struct Files {
  std::string sources;
  std::string profile;
};

Files Write(const HeapProfile& profile, Metric metric) {
  const auto files = FindExportFormat("mlmon")->run(profile, metric);
  EXPECT_TRUE(files.ok() && files->size() == 2);
  EXPECT_EQ(files->front().suffix, ".sources");
  return {files->front().bytes, files->back().bytes};
}

TEST(MlmonTest, FunctionsHaveTheirOwnBytesAndThoseOfWhatTheyCalled) {
  const HeapProfile profile = testing::LargeProfile(300);
  const Files files = Write(profile, Metric::kAllocated);
  Mlmon mlmon;
  SourceTable table;
  std::string error;
  ASSERT_TRUE(ParseMlmon(files.profile, &mlmon, &error)) << error;
  ASSERT_TRUE(ParseSources(AnswerOfStub(files.sources), &table, &error)) << error;
  EXPECT_EQ(mlmon.style, ProfileStyle::kStack);
  EXPECT_EQ(static_cast<double>(mlmon.total),
            std::llround(testing::TotalBytes(profile, Metric::kAllocated)));
  const auto costs = testing::CostsOf(profile, Metric::kAllocated);
  for (size_t i = 3; i < table.names.size(); ++i) {
    const testing::Cost& cost = costs.at(table.names[i].name);
    EXPECT_NEAR(static_cast<double>(mlmon.masters[i].current), cost.self, 300);
    EXPECT_NEAR(static_cast<double>(mlmon.masters[i].stack), cost.inclusive, 300);
  }
}

TEST(MlmonTest, ImportOfTheExportHasTheTotal) {
  for (const Metric metric : {Metric::kAllocated, Metric::kLive}) {
    const HeapProfile profile = testing::OddProfile();
    const Files files = Write(profile, metric);
    const auto back = ImportMlmon(files.profile, files.sources);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(testing::IsConsistent(*back));
    EXPECT_TRUE(Has(*back, metric));
    EXPECT_FALSE(back->has_blocks);
    EXPECT_EQ(testing::TotalBytes(*back, metric),
              std::llround(testing::TotalBytes(profile, metric)));
    EXPECT_EQ(back->functions[0].name, "main");
    EXPECT_EQ(back->functions[0].file, "src/main.cc");
    EXPECT_EQ(back->functions[0].start_line, 10u);
  }
}

void ExpectError(const std::string& profile, const std::string& sources, const char* words) {
  const auto back = ImportMlmon(profile, sources);
  ASSERT_FALSE(back.ok());
  EXPECT_THAT(std::string(back.status().message()), HasSubstr(words));
}

TEST(MlmonTest, FilesThatDoNotFitAreErrors) {
  const Files files = Write(testing::OddProfile(), Metric::kLive);
  const Files other = Write(testing::LargeProfile(3), Metric::kLive);
  ExpectError(files.profile.substr(0, 60), files.sources, "cut short or damaged");
  ExpectError(files.profile, "", "that Allomon did not write");
  ExpectError(files.profile, other.sources, "of another build");
  std::string calls = files.profile;
  calls.replace(calls.find("alloc"), 5, "count");
  ExpectError(calls, files.sources, "is a profile of time or calls, not of bytes");
  std::string negative = files.profile;
  negative.insert(negative.rfind('\n', negative.size() - 2) + 1, "-");
  ExpectError(negative, files.sources, "has counts below 0");
}

// Checks the rules of speedscope's file format, from its schema and its importer.

using Json = nlohmann::json;

void CheckFrame(const Json& frame) {
  EXPECT_TRUE(frame.at("name").is_string());
  for (const auto& [key, value] : frame.items()) {
    const bool is_number = key == "line" || key == "col";
    EXPECT_TRUE(is_number ? value.is_number() : value.is_string()) << key;
  }
}

double CheckProfile(const Json& profile, size_t frames) {
  EXPECT_EQ(profile.at("type"), "sampled");
  EXPECT_TRUE(profile.at("name").is_string());
  EXPECT_EQ(profile.at("unit"), "bytes");
  EXPECT_TRUE(profile.at("startValue").is_number());
  EXPECT_EQ(profile.at("samples").size(), profile.at("weights").size());
  double sum = 0;
  for (const Json& weight : profile.at("weights")) sum += weight.get<double>();
  EXPECT_EQ(profile.at("endValue").get<double>() - profile.at("startValue").get<double>(), sum);
  for (const Json& stack : profile.at("samples")) {
    for (const Json& frame : stack) EXPECT_LT(frame.get<size_t>(), frames);
  }
  return sum;
}

void CheckFile(const HeapProfile& profile, Metric metric) {
  const Json file = Json::parse(testing::Export("speedscope", profile, metric));
  EXPECT_EQ(file.at("$schema"), "https://www.speedscope.app/file-format-schema.json");
  const Json& frames = file.at("shared").at("frames");
  for (const Json& frame : frames) CheckFrame(frame);
  ASSERT_EQ(file.at("profiles").size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const double total = testing::TotalBytes(profile, static_cast<Metric>(i));
    EXPECT_EQ(CheckProfile(file.at("profiles")[i], frames.size()), std::llround(total));
  }
  EXPECT_EQ(file.at("activeProfileIndex"), static_cast<size_t>(metric));
}

TEST(SpeedscopeTest, KeepsTheRulesOfItsFormatAndOurTotals) {
  for (Metric metric : {Metric::kAllocated, Metric::kLive, Metric::kPeak}) {
    CheckFile(testing::OddProfile(), metric);
    CheckFile(testing::LargeProfile(300), metric);
  }
}

TEST(SpeedscopeTest, StacksBeginAtTheOutermost) {
  const Json file =
      Json::parse(testing::Export("speedscope", testing::OddProfile(), Metric::kAllocated));
  const Json& stack = file.at("profiles")[0].at("samples")[1];
  const Json& frames = file.at("shared").at("frames");
  EXPECT_EQ(frames[stack[0].get<size_t>()].at("name"), "main");
  EXPECT_EQ(frames[stack[1].get<size_t>()].at("name"), "f(int)");
}

// V8's sampling heap profile: a tree of nodes, whose numbers DevTools takes for keys.

struct Sums {
  std::set<int> ids;
  std::map<std::string, double> self_bytes;  // by function
  double bytes = 0;
};

void CheckNode(const Json& node, Sums* sums) {
  const Json& call = node.at("callFrame");
  for (const char* text : {"functionName", "scriptId", "url"}) {
    EXPECT_TRUE(call.at(text).is_string()) << text;
  }
  EXPECT_GE(call.at("lineNumber"), -1);
  EXPECT_EQ(call.at("columnNumber"), -1);
  EXPECT_TRUE(sums->ids.insert(node.at("id").get<int>()).second) << "a repeated id";
  const double self = node.at("selfSize").get<double>();
  sums->bytes += self;
  sums->self_bytes[call.at("functionName").get<std::string>()] += self;
  std::set<std::string> names;
  for (const Json& child : node.at("children")) {
    EXPECT_TRUE(names.insert(child.at("callFrame").dump()).second) << "one function, two nodes";
    CheckNode(child, sums);
  }
}

Json Head(const HeapProfile& profile, Metric metric) {
  return Json::parse(testing::Export("devtools", profile, metric)).at("head");
}

TEST(DevtoolsTest, KeepsTheRulesOfItsFormatAndOurTotals) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(300)}) {
    for (Metric metric : {Metric::kAllocated, Metric::kLive, Metric::kPeak}) {
      Sums sums;
      CheckNode(Head(profile, metric), &sums);
      EXPECT_EQ(sums.bytes, std::llround(testing::TotalBytes(profile, metric)));
    }
  }
}

TEST(DevtoolsTest, BytesAreOfTheInnermostFunction) {
  const HeapProfile profile = testing::LargeProfile(300);
  Sums sums;
  CheckNode(Head(profile, Metric::kLive), &sums);
  for (const auto& [name, cost] : testing::CostsOf(profile, Metric::kLive)) {
    EXPECT_NEAR(sums.self_bytes[name], cost.self, 300) << name;
  }
}

TEST(DevtoolsTest, CallsLeadFromTheOutermostFunctionOn) {
  const Json head = Head(testing::OddProfile(), Metric::kAllocated);
  EXPECT_EQ(head.at("callFrame").at("functionName"), "(root)");
  const Json& children = head.at("children");
  const auto main = std::find_if(children.begin(), children.end(), [](const Json& child) {
    return child.at("callFrame").at("functionName") == "main";
  });
  ASSERT_NE(main, children.end());
  EXPECT_EQ(main->at("children")[0].at("callFrame").at("functionName"), "f(int)");
}

// Properties of the files that callgrind_annotate and ms_print do not report.

using ::testing::Not;

TEST(CallgrindTest, MetricThatWasAskedForComesFirst) {
  const std::string text = testing::Export("callgrind", testing::OddProfile(), Metric::kTemporary);
  EXPECT_THAT(text, HasSubstr("\nevents: temporary_bytes temporary_blocks alloc_bytes "));
}

TEST(CallgrindTest, BlocksThatAreNotKnownAreNoEvent) {
  HeapProfile profile = testing::OddProfile();
  profile.has_blocks = false;
  EXPECT_THAT(testing::Export("callgrind", profile, Metric::kLive), Not(HasSubstr("_blocks")));
}

// The format has one line per entry: a name with a newline would begin a line of its own.
TEST(CallgrindTest, NamesCannotForgeLines) {
  HeapProfile profile = testing::OddProfile();
  profile.functions[0].name = "main\n99 1000000 1 1 1 1 1 1 1\nfn=forged";
  profile.functions[0].file = "\n";
  profile.command = "prog\nevents: forged";
  const std::string text = testing::Export("callgrind", profile, Metric::kLive);
  EXPECT_THAT(text, Not(HasSubstr("\nfn=forged")));
  EXPECT_THAT(text, Not(HasSubstr("\nevents: forged")));
  EXPECT_THAT(text, Not(HasSubstr("\n99 1000000")));
}

TEST(MassifTest, NamesCannotForgeLinesOrComments) {
  HeapProfile profile = testing::OddProfile();
  profile.functions[0].name = "main#1\nsnapshot=7";
  profile.command = "prog #1\nsnapshot=8";
  const std::string text = testing::Export("massif", profile, Metric::kLive);
  EXPECT_THAT(text, HasSubstr("main@1 snapshot=7"));
  EXPECT_THAT(text, HasSubstr("cmd: prog @1 snapshot=8\n"));
}

// ms_print recurses for each level, and lines are indented by their level.
TEST(MassifTest, DeepRecursionIsCut) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].stack.assign(100000, 5);
  const std::string text = testing::Export("massif", profile, Metric::kLive);
  EXPECT_LT(text.size(), 200000u);
  EXPECT_THAT(text, HasSubstr("n1: "));
}

TEST(MassifTest, ManySmallStacksAreOneLine) {
  HeapProfile profile = testing::LargeProfile(5000);
  profile.timeline.clear();
  const std::string text = testing::Export("massif", profile, Metric::kPeak);
  EXPECT_THAT(text, HasSubstr(" places, all below the threshold"));
}

TEST(MassifTest, WhatWasAllocatedIsNotInUse) {
  const auto files = FindExportFormat("massif")->run(testing::OddProfile(), Metric::kAllocated);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("callgrind"));
}

}  // namespace
}  // namespace allomon::interchange

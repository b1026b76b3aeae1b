// Checks the rules of valgrind's dh_view.js for loaded files, and the values that it shows of ours.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/interchange/example_profile.h"

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

}  // namespace
}  // namespace allomon::interchange

// Checks the rules of speedscope's file format, from its schema and its importer.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/interchange/example_profile.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
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

}  // namespace
}  // namespace allomon::interchange

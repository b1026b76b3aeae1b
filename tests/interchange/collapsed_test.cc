// Collapsed text folds back to the profile's totals, whatever its names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "tests/interchange/example_profile.h"
#include "tools/load/import.h"
#include "tools/text/notation.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;

// Reads like flamegraph.pl: a line is a stack, a blank and a number.
std::map<std::string, double> Fold(const std::string& text) {
  std::map<std::string, double> stacks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t blank = line.rfind(' ');
    EXPECT_NE(blank, std::string::npos) << line;
    stacks[line.substr(0, blank)] += std::stod(line.substr(blank + 1));
  }
  return stacks;
}

double Sum(const std::map<std::string, double>& stacks) {
  double sum = 0;
  for (const auto& [stack, bytes] : stacks) sum += bytes;
  return sum;
}

TEST(CollapsedTest, FoldsBackToTheTotalsOfEachMetric) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(500)}) {
    for (Metric metric : {Metric::kAllocated, Metric::kLive, Metric::kPeak, Metric::kTemporary}) {
      const auto stacks = Fold(testing::Export("collapsed", profile, metric));
      EXPECT_EQ(Sum(stacks), std::llround(testing::TotalBytes(profile, metric)));
    }
  }
}

TEST(CollapsedTest, StacksOfTwoSizesAndThreadsAreOneLine) {
  const auto stacks = Fold(testing::Export("collapsed", testing::OddProfile(), Metric::kAllocated));
  ASSERT_EQ(stacks.count("main;f(int)"), 1u);
  EXPECT_NEAR(stacks.at("main;f(int)"), 32 * 100.25 + 64 * 60.3, 1);
  EXPECT_EQ(stacks.count("main;f(int);f(int);f(int)"), 1u) << "recursion is kept";
  EXPECT_EQ(stacks.count("(no stack)"), 1u);
}

TEST(CollapsedTest, InlinedCallsAreInnermostLast) {
  const auto stacks = Fold(testing::Export("collapsed", testing::OddProfile(), Metric::kAllocated));
  EXPECT_EQ(stacks.count("main;f(int);ns::g<char\\x3b \"int\">;h::operator()#1 50%;f(int);"
                         "ns::g<char\\x3b \"int\">;h::operator()#1 50%"),
            1u);
}

TEST(CollapsedTest, NamesComeBackWhateverIsInThem) {
  for (const std::string name :
       {"a;b", "a\nb", "back\\slash", "\\x3b", "a \x01\x7f b", "\\", "\\x"}) {
    EXPECT_EQ(UnescapedFrame(EscapedFrame(name)), name);
    EXPECT_EQ(EscapedFrame(name).find_first_of(";\n"), std::string::npos);
  }
  EXPECT_EQ(UnescapedFrame("\\x41\\xzz\\x3"), "\\x41\\xzz\\x3") << "not ours: left alone";
}

TEST(CollapsedTest, ImportOfTheExportIsTheSameText) {
  for (const HeapProfile& profile : {testing::OddProfile(), testing::LargeProfile(200)}) {
    const std::string text = testing::Export("collapsed", profile, Metric::kPeak);
    const auto back = ImportCollapsed(text, Metric::kPeak);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(testing::IsConsistent(*back));
    EXPECT_FALSE(back->has_blocks);
    EXPECT_TRUE(Has(*back, Metric::kPeak));
    EXPECT_EQ(testing::Export("collapsed", *back, Metric::kPeak), text);
  }
}

TEST(CollapsedTest, ReadsWhatOthersWrite) {
  const auto profile =
      ImportCollapsed("java;[unknown];a b (c)  12\r\n\nmain 0.5\nmain;f 3", Metric::kAllocated);
  ASSERT_TRUE(profile.ok()) << profile.status();
  EXPECT_EQ(testing::TotalBytes(*profile, Metric::kAllocated), 15.5);
  ASSERT_EQ(profile->samples.size(), 3u);
  EXPECT_EQ(profile->functions.back().name, "f");
}

TEST(CollapsedTest, ErrorsNameTheLine) {
  for (const std::string bad : {"nonumber", "a;b -3", "a;b 1e", "a;b nan", "a;b 0x10", "a 1.2.3",
                                "a 11111111111111111111111111111111111111111"}) {
    const auto profile = ImportCollapsed("ok 1\n" + bad + "\n", Metric::kLive);
    ASSERT_FALSE(profile.ok()) << bad;
    EXPECT_THAT(std::string(profile.status().message()), HasSubstr("line 2: "));
  }
}

TEST(CollapsedTest, LimitsAreErrors) {
  ImportLimits limits;
  limits.samples = 2;
  EXPECT_FALSE(ImportCollapsed("a 1\na 1\na 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.locations = 2;
  EXPECT_FALSE(ImportCollapsed("a;b;c 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.frames = 2;
  EXPECT_FALSE(ImportCollapsed("a;a;a 1\n", Metric::kLive, limits).ok());
  limits = {};
  limits.text_bytes = 2;
  EXPECT_FALSE(ImportCollapsed("a 1\n", Metric::kLive, limits).ok());
}

TEST(CollapsedTest, IsToldByItsFirstLine) {
  EXPECT_TRUE(LooksLikeCollapsed("main;f 12\nmore"));
  EXPECT_TRUE(LooksLikeCollapsed("main 12"));
  EXPECT_TRUE(LooksLikeCollapsed("a;very;long;line;that;is;cut"));
  EXPECT_FALSE(LooksLikeCollapsed("MLton prof\nalloc\n"));
  EXPECT_FALSE(LooksLikeCollapsed(""));
  EXPECT_FALSE(LooksLikeCollapsed(std::string("\x1f\x8b\x08\0;\0", 6)));
}

}  // namespace
}  // namespace allomon::interchange

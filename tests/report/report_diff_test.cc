// Growth from one profile to another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/profile/golden_files.h"
#include "tests/report/report_case.h"

namespace allomon::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// Two builds of a program.  In the second, lines have moved, one function was removed and one
// added.
class ReportDiffTest : public ReportCase {
 protected:
  ReportDiffTest() {
    WriteProfile("before.out", ProfileKind::kAlloc,
                 {{{"leak", "s.cc: 10"}, {1024}},
                  {{"same", "s.cc: 20"}, {500}},
                  {{"gone", "s.cc: 30"}, {100}},
                  {{"f", "s.cc: 40"}, {300}},
                  {{"f", "s.cc: 50"}, {40}}});
    WriteProfile("after.out", ProfileKind::kAlloc,
                 {{{"leak", "s.cc: 15"}, {3072}},
                  {{"same", "s.cc: 25"}, {500}},
                  {{"new", "s.cc: 33"}, {7}},
                  {{"f", "s.cc: 45"}, {200}},
                  {{"f", "s.cc: 55"}, {45}}});
  }
};

TEST_F(ReportDiffTest, LargestChangeFirstWhetherGrowthOrNot) {
  EXPECT_EQ(Out({"--diff", "before.out", "after.out"}),
            "before  before.out: 1.9 KiB allocated (1,964 bytes)\n"
            "after   after.out: 3.7 KiB allocated (3,824 bytes)\n"
            "functions by before.out.sources, found beside the profile\n"
            "functions by after.out.sources, found beside the profile\n"
            "growth of what each function used itself\n"
            "\n"
            "function  where     before    after    growth        %\n"
            "leak      s.cc:15  1.0 KiB  3.0 KiB  +2.0 KiB  +200.0%  ████████████████████\n"
            "f         s.cc:45    300 B    200 B    -100 B   -33.3%  ░\n"
            "gone      s.cc:30    100 B      0 B    -100 B     gone  ░\n"
            "new       s.cc:33      0 B      7 B      +7 B      new  ▏\n"
            "f         s.cc:55     40 B     45 B      +5 B   +12.5%  ▏\n");
}

TEST_F(ReportDiffTest, ManyTimesAsMuchIsNotAPercentage) {
  WriteProfile("1.out", ProfileKind::kAlloc, {{{"f", "s.cc: 1"}, {10}}, {{"g", "s.cc: 1"}, {10}}});
  WriteProfile("2.out", ProfileKind::kAlloc, {{{"f", "s.cc: 1"}, {123}}, {{"g", "s.cc: 1"}, {99}}});
  EXPECT_THAT(Out({"--diff", "1.out", "2.out"}), HasSubstr("+113 B    x12.3"));
  EXPECT_THAT(Out({"--diff", "1.out", "2.out"}), HasSubstr("+89 B  +890.0%"));
}

TEST_F(ReportDiffTest, WhatDidNotChangeIsNotShown) {
  EXPECT_THAT(Out({"--diff", "before.out", "after.out"}), Not(HasSubstr("same")));
  EXPECT_THAT(Out({"--diff", "before.out", "before.out"}), HasSubstr("nothing changed\n"));
}

TEST_F(ReportDiffTest, GrowthsAddUpToThatOfTheTotals) {
  const Json json = Json::parse(Out({"--diff", "--json", "before.out", "after.out"}));
  int sum = 0;
  for (const Json& function : json["functions"]) sum += function["growth"].get<int>();
  EXPECT_EQ(sum, json["after"]["total"].get<int>() - json["before"]["total"].get<int>());
  EXPECT_EQ(json["functions"][0]["name"], "leak");
}

TEST_F(ReportDiffTest, CsvAndTop) {
  EXPECT_EQ(Out({"--diff", "--csv", "--top=1", "before.out", "after.out"}),
            "function,position,before,after,growth\nleak,s.cc: 15,1024,3072,2048\n");
  EXPECT_THAT(Out({"--diff", "--top=1", "before.out", "after.out"}),
              HasSubstr("4 more functions changed\n"));
}

TEST_F(ReportDiffTest, OneProgramServesBoth) {
  Mlmon grown = testing::SmallProfile();
  grown.total += 6;
  grown.masters[3].current += 6;
  Write("grown.out", FormatMlmon(grown));
  EXPECT_THAT(Out({"--diff", "--sort=cur", "prog", "mlmon.out", "grown.out"}),
              HasSubstr("A.f       f.cc:1    10 B   16 B    +6 B  +60.0%"));
}

TEST_F(ReportDiffTest, GrowthOfStackData) {
  Mlmon grown = testing::SmallProfile();
  grown.masters[3].stack += 30;
  Write("grown.out", FormatMlmon(grown));
  const std::string text = Out({"--diff", "--sort=stack", "prog", "mlmon.out", "grown.out"});
  EXPECT_THAT(text, HasSubstr("with what it called"));
  EXPECT_THAT(text, HasSubstr("+30 B  +300.0%"));
}

// A function whose callees use more, while its own bytes do not change, used to have a row of 0 B,
// 0 B, 0 B.
TEST_F(ReportDiffTest, RowsHaveAChangeInWhatTheyShow) {
  Mlmon grown = testing::SmallProfile();
  grown.masters[3].stack += 30;
  grown.masters[4].current += 5;
  grown.total += 5;
  Write("grown.out", FormatMlmon(grown));
  const std::string by_own = Out({"--diff", "--sort=cur", "prog", "mlmon.out", "grown.out"});
  EXPECT_THAT(by_own, HasSubstr("+5 B"));
  EXPECT_THAT(by_own, Not(HasSubstr("A.f")));
  const std::string by_default = Out({"--diff", "prog", "mlmon.out", "grown.out"});
  EXPECT_THAT(by_default, HasSubstr("with what it called"));
  EXPECT_THAT(by_default, HasSubstr("A.f"));
  EXPECT_THAT(by_default, Not(HasSubstr("A.g")));
  const Json json = Json::parse(Out({"--diff", "--json", "prog", "mlmon.out", "grown.out"}));
  EXPECT_EQ(json["functions"].size(), 2u);
}

TEST_F(ReportDiffTest, StackDataOfOneProfileAloneAreNoChange) {
  WriteProfile("stack.out", ProfileKind::kAlloc, {{{"leak", "s.cc: 10"}, {1024, 1024}}});
  WriteProfile("own.out", ProfileKind::kAlloc, {{{"leak", "s.cc: 10"}, {1024}}});
  EXPECT_THAT(Out({"--diff", "stack.out", "own.out"}), HasSubstr("nothing changed\n"));
  const Json json = Json::parse(Out({"--diff", "--json", "stack.out", "own.out"}));
  EXPECT_TRUE(json["functions"].empty());
}

TEST_F(ReportDiffTest, AllocatedAndLiveAreTwoKinds) {
  WriteProfile("live.out", ProfileKind::kAlloc, {{{"leak", "s.cc: 10"}, {1024}}}, StubOf::kLive);
  EXPECT_THAT(Error({"--diff", "before.out", "live.out"}),
              HasSubstr("before.out has all that was allocated, live.out what is live: give"));
  EXPECT_THAT(Error({"--diff", "live.out", "before.out"}), HasSubstr("live.out has what is live"));
  WriteProfile("all.out", ProfileKind::kAlloc, {{{"leak", "s.cc: 10"}, {1024}}});
  EXPECT_THAT(Error({"all.out", "live.out"}), HasSubstr("live.out what is live: give"));
  // A script that is named in place of a lost one says so.
  std::rename("live.out.sources", "names");
  EXPECT_THAT(Out({"names", "live.out"}), HasSubstr("1.0 KiB live"));
}

TEST_F(ReportDiffTest, FromNothingIsGrowthAndNotAnError) {
  WriteProfile("nothing.out", ProfileKind::kAlloc, {{{"leak", "s.cc: 10"}, {0}}});
  EXPECT_THAT(Out({"--diff", "nothing.out", "before.out"}), HasSubstr("new"));
  EXPECT_THAT(Error({"--diff", "nothing.out", "nothing.out"}), HasSubstr("0 bytes allocated"));
}

TEST_F(ReportDiffTest, ExtremeNumbersDoNotWrapAround) {
  const MlmonInt most = ~(MlmonInt{1} << 127);
  Mlmon low, high;
  low.magic = high.magic = 0x1234;
  low.masters.resize(5);
  low.splits.resize(5);
  high.masters = high.splits = low.masters;
  high.total = high.masters[3].current = most;
  low.total = low.masters[3].current = -most;
  Write("low.out", FormatMlmon(low));
  Write("high.out", FormatMlmon(high));
  const std::string csv = Out({"--diff", "--csv", "prog", "low.out", "high.out"});
  EXPECT_THAT(csv, HasSubstr(",170141183460469231731687303715884105727\n"));
}

TEST_F(ReportDiffTest, PairsThatCannotBeCompared) {
  WriteProfile("calls.out", ProfileKind::kCount, {{{"leak", "s.cc: 10"}, {1}}});
  EXPECT_THAT(Error({"--diff", "before.out", "calls.out"}),
              HasSubstr("before.out counts bytes, calls.out calls: give two profiles of one kind"));
  EXPECT_THAT(Error({"--diff", "before.out"}), HasSubstr("--diff compares two profiles; 1 given"));
  EXPECT_THAT(Error({"--diff", "--sort=gc", "before.out", "after.out"}),
              HasSubstr("no stack data"));
}

TEST_F(ReportDiffTest, PictureHasBothSides) {
  Out({"--diff", "before.out", "after.out", "--picture=diff.svg"});
  const std::string svg = testing::ReadFileOrDie("diff.svg");
  EXPECT_THAT(svg, HasSubstr("#c0392b"));  // grown
  EXPECT_THAT(svg, HasSubstr("#2e8b57"));  // shrunk
}

}  // namespace
}  // namespace allomon::report

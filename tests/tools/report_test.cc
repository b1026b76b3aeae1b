// Tables of mlprof: their text, and the order of their rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>

#include "tools/mlprof/dot.h"
#include "tools/mlprof/keep.h"
#include "tools/mlprof/profile_view.h"
#include "tools/mlprof/table.h"

namespace allomon::mlprof {
namespace {

class ReportTest : public ::testing::Test {
 protected:
  ReportTest() {
    data_.kind = ProfileKind::kCount;
    data_.total = 100;
  }

  void AddFunction(const std::string& name, const std::string& position, MlmonInt current,
                   std::vector<uint32_t> calls = {}) {
    const uint32_t index = static_cast<uint32_t>(program_.table.names.size());
    program_.file = "prog";
    program_.table.names.push_back({name, position});
    program_.table.sources.push_back({index, index});
    program_.table.sequences.push_back(std::move(calls));
    program_.is_split.push_back(false);
    data_.splits.push_back({current, 0, 0});
    data_.masters.push_back({current, 0, 0});
  }

  std::string Table(bool raw = false) {
    const ProfileView view(program_, data_);
    return FormatTable(view, Keep(view), raw, false);
  }

  // The graph without its first two lines, which hold the title.
  std::string Dot(const DotStyle& style = DotStyle()) {
    const ProfileView view(program_, data_);
    std::string dot, error;
    if (!FormatDot(view, Keep(view), style, &dot, &error)) return error;
    return dot.substr(dot.find('\n', dot.find('\n') + 1) + 1);
  }

  std::string Edges() {
    std::string edges;
    const std::string dot = Dot();
    for (size_t at = dot.find(" -> "); at != std::string::npos; at = dot.find(" -> ", at + 1)) {
      const size_t start = dot.rfind('\n', at) + 1;
      edges += dot.substr(start, dot.find('\n', at) - start) + "\n";
    }
    return edges;
  }

  Selection Keep(const ProfileView& view) {
    std::vector<bool> kept;
    for (const SourceName& name : program_.table.names) {
      kept.push_back(name.name[0] != '-');
    }
    return Select(view, kept);
  }

  Program program_;
  Mlmon data_;
};

TEST_F(ReportTest, HeadsAreCentredSoThatLinesEndInBlanks) {
  EXPECT_EQ(JustifiedTable({"function", "cur"}, {{"f", "1234567"}}),
            "function   cur  \n-------- -------\nf        1234567\n");
  EXPECT_EQ(JustifiedTable({"ab", "c"}, {{"abcde", "d"}}), " ab   c\n----- -\nabcde d\n");
}

TEST_F(ReportTest, WidthIsInBytes) { EXPECT_EQ(JustifiedTable({"f"}, {{"ü"}}), "f \n--\nü\n"); }

// A profile of counts is often read to learn that a function was never called.
TEST_F(ReportTest, UncalledFunctionsAreListedIfTheyHaveAPosition) {
  AddFunction("never", "f.cc: 1", 0);
  AddFunction("<main>", "", 0);
  EXPECT_NE(Table().find("never"), std::string::npos);
  EXPECT_EQ(Table().find("<main>"), std::string::npos);
  data_.kind = ProfileKind::kAlloc;
  EXPECT_EQ(Table().find("never"), std::string::npos);
}

TEST_F(ReportTest, NegativeCountsHideTheRow) {
  AddFunction("f", "", -5);
  EXPECT_EQ(Table().find("\nf "), std::string::npos);
}

TEST_F(ReportTest, TiesComeLastFirst) {
  AddFunction("f", "", 10);
  AddFunction("g", "", 20);
  AddFunction("h", "", 20);
  AddFunction("i", "", 10);
  EXPECT_EQ(Table(true),
            "function  cur  raw \n-------- ----- ----\n"
            "h        20.0% (20)\ng        20.0% (20)\n"
            "f        10.0% (10)\ni        10.0% (10)\n")
      << "f and i were swapped when the smallest was moved to the end";
}

TEST_F(ReportTest, TotalsOfZeroAreNoDivisionByZero) {
  AddFunction("f", "", 5);
  data_.total = 0;
  EXPECT_NE(Table().find("f        0.0%"), std::string::npos);
}

TEST_F(ReportTest, TotalsBeyond127BitsTogether) {
  AddFunction("f", "", 5);
  data_.total = data_.total_gc = (static_cast<MlmonInt>(1) << 126) - 1;
  data_.total_gc += static_cast<MlmonInt>(1) << 126;
  EXPECT_NE(Table().find("f        0.0%"), std::string::npos);
}

TEST_F(ReportTest, TotalsLines) {
  data_.total = 123456;
  data_.total_gc = 1000;
  EXPECT_EQ(TotalsLine(ProfileView(program_, data_)), "123,456 ticks\n");
  data_.kind = ProfileKind::kAlloc;
  EXPECT_EQ(TotalsLine(ProfileView(program_, data_)),
            "123,456 bytes allocated (1,000 bytes by GC)\n");
  data_.kind = ProfileKind::kTime;
  EXPECT_EQ(TotalsLine(ProfileView(program_, data_)),
            "1234.56 seconds of CPU time (10.00 seconds GC)\n");
  EXPECT_EQ(TotalsLine(ProfileView(program_, std::nullopt)), "");
}

TEST_F(ReportTest, LabelsEscapeTwiceTitlesOnlyInTheLabel) {
  AddFunction("a\"b\\c\xc3\x01", "", 0);
  DotStyle style;
  const std::string expected =
      "n0 [shape = \"box\", label = "
      "\"a\\\"b\\\\\\\\c\\\\\\\\303\\\\\\\\1\\n\", color = \"Black\"]\n}";
  EXPECT_EQ(Dot(style), expected);
  style.title = "t\"";
  const ProfileView view(program_, data_);
  std::string dot, error;
  ASSERT_TRUE(FormatDot(view, Keep(view), style, &dot, &error));
  EXPECT_EQ(dot, "digraph \"t\"\" {\nlabel = \"t\\\"\"\n" + expected);
}

TEST_F(ReportTest, DashedEdgesPassThroughHiddenFunctions) {
  AddFunction("a", "", 1, {1});
  AddFunction("-hidden", "", 1, {2});
  AddFunction("-too", "", 1, {3});
  AddFunction("b", "", 1);
  EXPECT_EQ(Edges(), "n1 -> n0 [style = \"dashed\"]\n");
}

TEST_F(ReportTest, DashedEdgeReplacesTheDirectOne) {
  AddFunction("a", "", 1, {1, 2});
  AddFunction("-hidden", "", 1, {2});
  AddFunction("b", "", 1);
  EXPECT_EQ(Edges(), "n1 -> n0 [style = \"dashed\"]\n");
}

TEST_F(ReportTest, DashedEdgeMayLeadBackToItsStart) {
  AddFunction("a", "", 1, {1});
  AddFunction("-hidden", "", 1, {0, 1});
  EXPECT_EQ(Edges(), "n0 -> n0 [style = \"dashed\"]\n");
}

TEST_F(ReportTest, RepeatedCallsAreOneEdge) {
  AddFunction("a", "", 1, {0, 1, 0, 1});
  AddFunction("b", "", 1);
  EXPECT_EQ(Edges(), "n1 -> n0 []\nn1 -> n1 []\n");
}

// A recursive search would overflow the stack.
TEST_F(ReportTest, LongPathThroughHiddenFunctions) {
  AddFunction("a", "", 1, {1});
  for (uint32_t i = 1; i < 300000; ++i) {
    AddFunction("-hidden", "", 1, {i + 1});
  }
  AddFunction("b", "", 1);
  EXPECT_EQ(Edges(), "n1 -> n0 [style = \"dashed\"]\n");
}

TEST_F(ReportTest, TooManyDashedEdgesAreRefusedNotWritten) {
  std::vector<uint32_t> all;
  for (uint32_t i = 1; i <= 1001; ++i) all.push_back(i);
  AddFunction("-hidden", "", 0, all);
  for (int i = 1; i <= 1001; ++i) AddFunction("f", "", 0, {0});
  EXPECT_EQ(Dot(),
            "the call graph has more than 1,000,000 dashed edges; keep fewer "
            "functions, or all");
}

TEST_F(ReportTest, GrayFollowsTheStackColumn) {
  AddFunction("f", "", 0);
  data_.style = ProfileStyle::kStack;
  DotStyle style;
  style.gray = true;
  for (const auto& [stack, gray] :
       {std::pair(0, "Gray100\""), std::pair(1, "Gray99\""), std::pair(100, "Gray0\"")}) {
    data_.masters[0].stack = stack;
    EXPECT_NE(Dot(style).find(gray), std::string::npos) << stack;
  }
  data_.masters[0].stack = 101;
  EXPECT_EQ(Dot(style),
            "-gray: 'f' has 101.0% on the stack, which no gray can show; "
            "leave out -gray");
}

// Profiles of real MLton programs with continuations have 100.2 %.
TEST_F(ReportTest, GrayRoundsBeforeItComplains) {
  AddFunction("f", "", 0);
  data_.style = ProfileStyle::kStack;
  data_.total = 1000;
  data_.masters[0].stack = 1005;
  DotStyle style;
  style.gray = true;
  EXPECT_NE(Dot(style).find("Gray0\""), std::string::npos);
}

template <typename Percent>
std::vector<size_t> Order(size_t count, Percent percent) {
  std::vector<double> percents;
  for (size_t i = 0; i < count; ++i) percents.push_back(percent(i));
  return RowOrder(percents);
}

uint32_t Hash(const std::vector<size_t>& order) {
  uint32_t hash = 2166136261u;
  for (size_t i : order) hash = (hash ^ static_cast<uint32_t>(i)) * 16777619u;
  return hash;
}

TEST(RowOrderTest, NoRowsAndOneRow) {
  EXPECT_TRUE(RowOrder({}).empty());
  EXPECT_EQ(RowOrder({7}), std::vector<size_t>{0});
}

TEST(RowOrderTest, FirstOfTheSmallestIsMovedToTheEndBeforehand) {
  EXPECT_EQ(RowOrder({1, 1, 1}), (std::vector<size_t>{2, 1, 0}));
  EXPECT_EQ(RowOrder({2, 1, 2, 1}), (std::vector<size_t>{0, 2, 3, 1}));
}

// The expected values of the next two tests come from a transcription of MLton's
// lib/mlton/basic/quick-sort.sml into another language.
TEST(RowOrderTest, TiesBeyondTheShortRuns) {
  EXPECT_EQ(Order(30, [](size_t) { return 0; }),
            (std::vector<size_t>{15, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 11,
                                 14, 13, 12, 29, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0}));
}

TEST(RowOrderTest, ManyRowsWithTies) {
  EXPECT_EQ(Hash(Order(1000, [](size_t i) { return i * 37 % 11; })), 0xe71fb5a5u);
  EXPECT_EQ(Hash(Order(100000, [](size_t i) { return i * 7919 % 101; })), 0x0fa2edbdu);
}

TEST(RowOrderTest, AnyNumberOfRowsIsSorted) {
  std::minstd_rand random(1);
  for (size_t count = 0; count < 200; ++count) {
    std::vector<double> percents;
    for (size_t i = 0; i < count; ++i) percents.push_back(random() % 50);
    std::vector<size_t> order = RowOrder(percents);
    for (size_t i = 1; i < count; ++i) {
      ASSERT_GE(percents[order[i - 1]], percents[order[i]]);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(RowOrderTest, SortedInputIsNotQuadratic) {
  const auto up = Order(300000, [](size_t i) { return i; });
  EXPECT_EQ(up.front(), 299999u);
  const auto down = Order(300000, [](size_t i) { return -double(i); });
  EXPECT_EQ(down.front(), 0u);
}

}  // namespace
}  // namespace allomon::mlprof

// Tests the parts of a report: bars, columns, areas, units.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/flat/origin.h"
#include "tools/report/picture/treemap.h"
#include "tools/text/amounts.h"
#include "tools/text/grid.h"
#include "tools/text/names.h"
#include "tools/text/plain_text.h"

namespace allomon::report {
namespace {

TEST(BarTest, LengthIsTheShare) {
  EXPECT_EQ(Bar(1, 0, 4, Charset::kUtf8), "████");
  EXPECT_EQ(Bar(0.5, 0, 4, Charset::kUtf8), "██");
  EXPECT_EQ(Bar(0.625, 0, 4, Charset::kUtf8), "██▌");
  EXPECT_EQ(Bar(0, 0, 4, Charset::kUtf8), "");
  EXPECT_EQ(Bar(0.25, 0.75, 4, Charset::kUtf8), "█░░");
  EXPECT_EQ(Bar(0.25, 0.75, 4, Charset::kAscii), "#--");
}

TEST(BarTest, SomethingIsNeverInvisibleAndNothingIsTooLong) {
  EXPECT_EQ(Bar(1e-9, 0, 10, Charset::kUtf8), "▏");
  EXPECT_EQ(Bar(0, 1e-9, 10, Charset::kUtf8), "░");
  EXPECT_EQ(Bar(1e-9, 0, 10, Charset::kAscii), "#");
  EXPECT_EQ(Bar(7, 0, 3, Charset::kUtf8), "███");
  EXPECT_EQ(Bar(-1, -1, 3, Charset::kUtf8), "");
}

Grid Example() {
  Grid grid;
  grid.columns = {{"name", Column::Kind::kText, 0, 10},
                  {"where", Column::Kind::kText, 1, 8},
                  {"cur", Column::Kind::kNumber, 0, 0},
                  {"", Column::Kind::kBar, 2, 2}};
  grid.columns.back().full_bar = 5;
  grid.rows = {{{"a::long::qualified::name"}, {"folder/file.cc:12"}, {"10"}, {"", {}, 1}},
               {{"short"}, {""}, {"7"}, {"", {}, 0.4}}};
  return grid;
}

std::string Plain(int width) { return FormatGrid(Example(), width, Charset::kAscii, false); }

TEST(GridTest, UnboundedTakesWhatItNeeds) {
  EXPECT_EQ(Plain(0),
            "name                      where              cur\n"
            "a::long::qualified::name  folder/file.cc:12   10  #####\n"
            "short                                          7  ##\n");
}

TEST(GridTest, PlacesAreCutFirstThenBarsThenNamesAndThenColumnsGo) {
  EXPECT_EQ(Plain(50),
            "name                      where         cur\n"
            "a::long::qualified::name  ~/file.cc:12   10  #####\n"
            "short                                     7  ##\n");
  EXPECT_EQ(Plain(43),
            "name                      where     cur\n"
            "a::long::qualified::name  ~e.cc:12   10  ##\n"
            "short                                 7  #\n")
      << "bars stay in proportion";
  EXPECT_EQ(Plain(37),
            "name                where     cur\n"
            "~::qualified::name  ~e.cc:12   10  ##\n"
            "short                           7  #\n");
  EXPECT_EQ(Plain(29),
            "name        where     cur\n"
            "~ied::name  ~e.cc:12   10  ##\n"
            "short                   7  #\n");
  EXPECT_EQ(Plain(28),
            "name           where     cur\n"
            "~lified::name  ~e.cc:12   10\n"
            "short                      7\n")
      << "the bar goes first";
  EXPECT_EQ(Plain(20),
            "name             cur\n"
            "~ualified::name   10\n"
            "short              7\n");
}

TEST(GridTest, NoLineIsWiderThanAsked) {
  for (int width = 8; width < 80; ++width) {
    const std::string text = Plain(width);
    size_t start = 0;
    for (size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
      EXPECT_LE(Columns(text.substr(start, end - start)), width) << text;
    }
  }
}

TEST(GridTest, ColourIsAroundTheText) {
  EXPECT_EQ(Painted("x", Paint::kHot, true), "\033[31mx\033[0m");
  EXPECT_EQ(Painted("x", Paint::kHot, false), "x");
  EXPECT_EQ(FormatGrid(Example(), 0, Charset::kAscii, false).find('\033'), std::string::npos);
}

TEST(TreemapTest, AreasAreTheSharesOfTheWhole) {
  const std::vector<double> weights = {60, 20, 10, 5, 4, 0.5, 0.5};
  const Rectangle area = {10, 20, 300, 100};
  const auto boxes = Treemap(weights, area);
  ASSERT_EQ(boxes.size(), weights.size());
  for (size_t i = 0; i < boxes.size(); ++i) {
    EXPECT_NEAR(boxes[i].width * boxes[i].height, 300 * weights[i], 1e-6);
    EXPECT_GE(boxes[i].x, 10 - 1e-9);
    EXPECT_GE(boxes[i].y, 20 - 1e-9);
    EXPECT_LE(boxes[i].x + boxes[i].width, 310 + 1e-9);
    EXPECT_LE(boxes[i].y + boxes[i].height, 120 + 1e-9);
  }
}

TEST(TreemapTest, BoxesDoNotOverlap) {
  const std::vector<double> weights = {9, 8, 7, 7, 3, 2, 1, 1, 1};
  const auto boxes = Treemap(weights, {0, 0, 70, 40});
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      const Rectangle &a = boxes[i], &b = boxes[j];
      const double x = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
      const double y = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
      EXPECT_FALSE(x > 1e-9 && y > 1e-9) << i << " " << j;
    }
  }
}

// The worked example of the paper (treemap.h), section 3.1.
TEST(TreemapTest, ExampleOfThePaper) {
  const auto boxes = Treemap({6, 6, 4, 3, 2, 2, 1}, {0, 0, 6, 4});
  EXPECT_NEAR(boxes[0].width, 3, 1e-9);
  EXPECT_NEAR(boxes[0].height, 2, 1e-9);
  EXPECT_NEAR(boxes[1].height, 2, 1e-9);
  EXPECT_NEAR(boxes[2].width, 12.0 / 7, 1e-9);
  EXPECT_NEAR(boxes[2].height, 7.0 / 3, 1e-9);
}

TEST(TreemapTest, NothingIsDividedIntoNothing) { EXPECT_TRUE(Treemap({}, {0, 0, 1, 1}).empty()); }

TEST(UnitsTest, BytesKeepOneDigitAndNeverReachTheNextUnit) {
  const auto bytes = [](MlmonInt value) { return Amount(ProfileKind::kAlloc, value); };
  EXPECT_EQ(bytes(0), "0 B");
  EXPECT_EQ(bytes(1023), "1023 B");
  EXPECT_EQ(bytes(1024), "1.0 KiB");
  EXPECT_EQ(bytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(bytes(85697228), "81.7 MiB");
  EXPECT_EQ(bytes(-2048), "-2.0 KiB");
  EXPECT_EQ(bytes(MlmonInt{1} << 60), "1.0 EiB");
  EXPECT_EQ(bytes(MlmonInt{1} << 75), "32768.0 EiB");
}

TEST(UnitsTest, TimesAndCalls) {
  EXPECT_EQ(Amount(ProfileKind::kTime, 1234), "12.34 s");
  EXPECT_EQ(Amount(ProfileKind::kCount, 1234567), "1,234,567");
  EXPECT_EQ(Amount(ProfileKind::kCount, -1234), "-1,234");
  EXPECT_EQ(SignedAmount(ProfileKind::kCount, 5), "+5");
  EXPECT_EQ(SignedAmount(ProfileKind::kCount, 0), "0");
  EXPECT_EQ(Percentage(12.345), "12.3%");
  EXPECT_EQ(PercentOf(1, 0), 0);
}

// ---- Names in a grid.

std::string Formatted(const std::vector<std::string>& names, int width, bool keeps_apart = true) {
  Column column = {"name", Column::Kind::kText};
  column.cut = FitName;
  column.keeps_apart = keeps_apart;
  Grid grid = {{column}, {}};
  for (const std::string& name : names) grid.rows.push_back({{name}});
  return FormatGrid(std::move(grid), width, Charset::kAscii, false);
}

const std::string kInt = "Cache<std::string, int>::Insert(int)";
const std::string kLong = "Cache<std::string, long>::Insert(long)";

TEST(Grid, NamesThatAreCutToOneTextSayWhatTheyDifferIn) {
  EXPECT_EQ(Formatted({kInt, kLong, "g()"}, 30),
            "name\nCache::Insert int>::Insert(i~\nCache::Insert long>::Insert(~\ng()\n");
  EXPECT_EQ(Formatted({"alpha::x::Foo::bar", "beta::x::Foo::bar"}, 16),
            "name\n~Foo::bar alpha\n~Foo::bar beta\n");
}

TEST(Grid, NamesThatFitOrAreTheSameAreLeftAlone) {
  EXPECT_EQ(Formatted({kInt, kLong}, 80), "name\n" + kInt + "\n" + kLong + "\n");
  EXPECT_EQ(Formatted({kInt, kInt}, 30), "name\nCache::Insert\nCache::Insert\n");
  EXPECT_EQ(Formatted({kInt, kLong}, 30, false), "name\nCache::Insert\nCache::Insert\n");
}

TEST(Grid, NoLineIsLongerThanItsWidth) {
  for (int width = 6; width < 60; ++width) {
    const std::string text =
        Formatted({kInt, kLong, "Cache<A>::Insert", "Cache<\xc3\xa4>::Insert"}, width);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(end - begin, static_cast<size_t>(width) + 1) << text;  // a byte more for a letter
      begin = end + 1;
    }
  }
}

// ---- The meaning of a picture's colours.

TEST(OriginTest, OfSourceFiles) {
  EXPECT_EQ(OriginOf({"Server::Open(int)", "server/server.cc: 12"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"Server::Open(int)", "/home/me/server/server.cc: 12"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"absl::Cord::f()", "/usr/include/absl/cord.h: 7"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"void __gnu::f()", "/usr/include/c++/12/bits/alloc.h: 7"}), Origin::kRuntime);
}

TEST(OriginTest, OfModules) {
  EXPECT_EQ(OriginOf({"f", "python3.11: 0x5132c0"}), Origin::kProgram);
  EXPECT_EQ(OriginOf({"f", "libssl.so.3: 0x5132c0"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"f", "_json.cpython-311-x86_64-linux-gnu.so: 0x12"}), Origin::kLibrary);
  EXPECT_EQ(OriginOf({"__alloc_dir", "libc.so.6: 0xcfcf0"}), Origin::kRuntime);
  EXPECT_EQ(OriginOf({"_dl_init", "ld-linux-x86-64.so.2: 0xcf0"}), Origin::kRuntime);
}

// Templates of the library are compiled into the program.
TEST(OriginTest, OfTheStandardLibraryByName) {
  EXPECT_EQ(OriginOf({"void std::vector<S>::emplace_back<S>(S&&)", "server: 0x12"}),
            Origin::kRuntime);
  EXPECT_EQ(OriginOf({"operator new(unsigned long)", "server: 0x12"}), Origin::kRuntime);
  EXPECT_EQ(OriginOf({"std_f()", "server: 0x12"}), Origin::kProgram);
}

TEST(OriginTest, OfWhatIsNoFunction) { EXPECT_EQ(OriginOf({"<gc>", ""}), Origin::kNone); }

}  // namespace
}  // namespace allomon::report

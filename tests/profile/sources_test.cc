// Texts beside mlmon.out: their scanner, and the places of calls.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tracker/formats/call_sites.h"
#include "tracker/formats/scan.h"
#include "tracker/formats/source_table.h"

namespace allomon::internal {
namespace {

CallSites Example() {
  CallSites sites;
  sites.wrappers = "<known>,pool::*,a b";
  sites.modules = {{"0123ab", "/usr/bin/a program"},
                   {"", "[vdso]"},
                   {"", "/usr/bin/without id", {0xfe00, 10978502, 16896, 1700000000123456789}}};
  sites.callers = {0, 0, 0, 7, 1};
  sites.sites = {{3, 1024, {{0, 0x1200, 0x1234}}},
                 {4, 0, {{0, 0x1300, 0x1300}, {1, 0xffffffffffff0000, 0xffffffffffffffff}}}};
  return sites;
}

SourceTable TableOfFive() {
  SourceTable table = FixedSourceTable();
  for (uint32_t i = 3; i < 5; ++i) {
    table.names.push_back({"f" + std::to_string(i), "m: 0x1200"});
    table.sources.push_back({i, kNoSuccessors});
  }
  return table;
}

std::string Script() {
  return FormatSourcesStub(TableOfFive(), StubOf::kLive, FormatCallSites(Example()));
}

TEST(CallSites, AreReadBackFromTheScript) {
  const CallSites sites = ParseCallSites(Script(), 5);
  EXPECT_EQ(FormatCallSites(sites), FormatCallSites(Example()));
  EXPECT_EQ(sites.modules[0].path, "/usr/bin/a program");
  EXPECT_EQ(sites.sites[1].frames[1].address, 0xffffffffffffffff);
}

TEST(CallSites, FileStandsInForABuildId) {
  const std::string text = FormatCallSites(Example());
  EXPECT_NE(text.find("# module @fe00,a784c6,4200,17979cfe3d85cd15 /usr/bin/without id\n"),
            std::string::npos)
      << text;
  const CallSites sites = ParseCallSites(Script(), 5);
  EXPECT_EQ(sites.modules[2].build_id, "");
  EXPECT_TRUE(sites.modules[2].file == Example().modules[2].file);
  for (const char* const damaged : {"@fe00,a784c6,4200", "@fe00,a784c6,4200,1,2", "@,1,2,3",
                                    "@fe00,a784c6,4200,", "@g,1,2,3", "@"}) {
    std::string script = Script();
    const size_t at = script.find("@fe00");
    script.replace(at, script.find(' ', at) - at, damaged);
    EXPECT_TRUE(ParseCallSites(script, 5).sites.empty()) << damaged;
  }
}

TEST(CallSites, LeaveTheAnswerAndTheWordLiveAlone) {
  EXPECT_EQ(AnswerOfStub(Script()), FormatSources(TableOfFive()));
  EXPECT_TRUE(IsStubOfLive(Script()));
  EXPECT_TRUE(IsStubOfLive(Script().substr(0, 32))) << "the beginning of a long one";
}

TEST(CallSites, NoneMakesNoLines) { EXPECT_EQ(FormatCallSites({}), ""); }

TEST(CallSites, OfALaterVersionAreNone) {
  std::string script = Script();
  script.replace(script.find("sites 1"), 7, "sites 2");
  EXPECT_TRUE(ParseCallSites(script, 5).sites.empty());
  EXPECT_EQ(AnswerOfStub(script), FormatSources(TableOfFive()));
}

TEST(CallSites, WithIndicesOutOfRangeAreNone) {
  EXPECT_TRUE(ParseCallSites(Script(), 4).sites.empty());
  std::string script = Script();
  script.replace(script.find(" 1:ffff"), 3, " 3:");
  EXPECT_TRUE(ParseCallSites(script, 5).sites.empty());
}

// A function's name may look like our comments; it comes after the line that ends them.
TEST(CallSites, InTheAnswerAreNotRead) {
  SourceTable table = TableOfFive();
  table.names[3].name = "# allomon call sites 1";
  table.names[4].name = "# site 3 1 0:1+2";
  EXPECT_TRUE(ParseCallSites(FormatSourcesStub(table), 5).sites.empty());
}

TEST(CallSites, DamagedOnesDoNoHarm) {
  std::mt19937 random(1);
  const std::string good = Script();
  for (int i = 0; i < 20000; ++i) {
    std::string script = good;
    for (int change = 0; change < 3; ++change) {
      script[random() % script.size()] = static_cast<char>(random() % 128);
    }
    script.resize(random() % (script.size() + 1));
    const CallSites sites = ParseCallSites(script, 5);
    for (const CallSite& site : sites.sites) {
      ASSERT_LT(site.name_index, 5u);
      for (const CodeAddress& frame : site.frames) ASSERT_LT(frame.module, sites.modules.size());
    }
  }
}

std::string Decimal(__int128 value) {
  std::string text;
  AppendDecimal(value, &text);
  return text;
}

// Returns the number read, or the reason for an error.
std::string Integer(std::string_view text) {
  __int128 value = 0;
  switch (ScanInteger(text, &value)) {
    case ScanResult::kOk:
      return Decimal(value);
    case ScanResult::kNone:
      return "none";
    case ScanResult::kTooBig:
      return "too big";
  }
  return "";
}

std::string Hex(std::string_view text) {
  uint32_t value = 0;
  switch (ScanHexWord(text, &value)) {
    case ScanResult::kOk: {
      std::string out;
      AppendHexWord(value, &out);
      return out;
    }
    case ScanResult::kNone:
      return "none";
    case ScanResult::kTooBig:
      return "too big";
  }
  return "";
}

TEST(ScanTest, IntegerEndsAtTheFirstOtherCharacter) {
  EXPECT_EQ(Integer("12 34"), "12");
  EXPECT_EQ(Integer("12abc"), "12");
  EXPECT_EQ(Integer(" \t\r12"), "12");
  EXPECT_EQ(Integer("0x400"), "0");
  EXPECT_EQ(Integer("1.5"), "1");
}

TEST(ScanTest, IntegerKnowsThreeSignsAndNoBlankBehindThem) {
  EXPECT_EQ(Integer("+5"), "5");
  EXPECT_EQ(Integer("-5"), "-5");
  EXPECT_EQ(Integer("~5"), "-5");
  EXPECT_EQ(Integer("- 5"), "none");
  EXPECT_EQ(Integer("--5"), "none");
  EXPECT_EQ(Integer("-"), "none");
}

TEST(ScanTest, IntegerIsNotThere) {
  EXPECT_EQ(Integer(""), "none");
  EXPECT_EQ(Integer("x1"), "none");
  EXPECT_EQ(Integer(std::string_view("\0001", 2)), "none");
}

TEST(ScanTest, IntegerAtTheEdgeOf128Bits) {
  const std::string largest = "170141183460469231731687303715884105727";
  const std::string smallest = "-170141183460469231731687303715884105728";
  EXPECT_EQ(Integer(largest), largest);
  EXPECT_EQ(Integer(smallest), smallest);
  EXPECT_EQ(Integer("170141183460469231731687303715884105728"), "too big");
  EXPECT_EQ(Integer("-170141183460469231731687303715884105729"), "too big");
  EXPECT_EQ(Integer("1" + std::string(100000, '0')), "too big");
}

TEST(ScanTest, SizeIsBelowTwoToThe31) {
  uint32_t size = 0;
  EXPECT_EQ(ScanSize("2147483647", &size), ScanResult::kOk);
  EXPECT_EQ(size, 2147483647u);
  EXPECT_EQ(ScanSize("2147483648", &size), ScanResult::kTooBig);
  EXPECT_EQ(ScanSize("-1", &size), ScanResult::kTooBig);
  EXPECT_EQ(ScanSize("", &size), ScanResult::kNone);
}

TEST(ScanTest, DecimalMagicIsReadAsHexadecimal) { EXPECT_EQ(Hex("100"), "0x00000100"); }

TEST(ScanTest, HexPrefixesAndJunk) {
  EXPECT_EQ(Hex("0xBDb93c6a"), "0xbdb93c6a");
  EXPECT_EQ(Hex("0Xff"), "0x000000ff");
  EXPECT_EQ(Hex("0wxff"), "0x000000ff");
  EXPECT_EQ(Hex("  0xff zz"), "0x000000ff");
  EXPECT_EQ(Hex("0xg"), "0x00000000") << "the zero before x is a number";
  EXPECT_EQ(Hex("0wff"), "0x00000000");
  EXPECT_EQ(Hex("xff"), "none");
  EXPECT_EQ(Hex("-1"), "none");
  EXPECT_EQ(Hex(""), "none");
}

TEST(ScanTest, MagicBeyond32BitsIsTooBigUnlessTheDigitsAreZeros) {
  EXPECT_EQ(Hex("0xffffffff"), "0xffffffff");
  EXPECT_EQ(Hex("0x100000000"), "too big");
  EXPECT_EQ(Hex("0x0000000000000001"), "0x00000001");
}

TEST(ScanTest, TokensAreNeverEmpty) {
  EXPECT_TRUE(SpaceTokens(" \t \r\n").empty());
  EXPECT_EQ(SpaceTokens(" a  b\tc "), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_EQ(Tokens("\ta b\t\tc", '\t'), (std::vector<std::string_view>{"a b", "c"}));
}

}  // namespace
}  // namespace allomon::internal

#include "tracker/formats/call_sites.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tracker/formats/source_table.h"

namespace allomon {
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

}  // namespace
}  // namespace allomon

// Files that name generated code: perf-PID.map and jit-PID.dump.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "tests/recording_reader/support/jit_dump_file.h"
#include "tools/load/recording/jit_dump.h"
#include "tools/load/recording/perf_map.h"

namespace allomon::recording {
namespace {

TEST(JitDump, FunctionsHaveTheirExtentAndTheirFirstLine) {
  JitDumpFile file(7);
  file.AddPlaces(0x1000, {{0x1004, 12, "/srv/a.js"}, {0x1008, 13, "\xff"}});
  file.AddLoad(0x1000, 0x20, 1, "f");
  file.AddLoad(0x2000, 0x10, 2, "g");
  const auto functions = ReadJitDump(file.text(), 7);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].begin, 0x1000u);
  EXPECT_EQ(functions[0].end, 0x1020u);
  EXPECT_EQ(functions[0].name, "f");
  EXPECT_EQ(functions[0].file, "/srv/a.js");
  EXPECT_EQ(functions[0].line, 12u);
  EXPECT_EQ(functions[1].name, "g");
  EXPECT_EQ(functions[1].file, "");
}

TEST(JitDump, PlacesOfOtherCodeAreNotTheFunctions) {
  JitDumpFile file(7);
  file.AddPlaces(0x3000, {{0x3000, 12, "/srv/a.js"}});
  file.AddLoad(0x1000, 0x20, 1, "f");
  file.AddLoad(0x3000, 0x20, 2, "g");
  const auto functions = ReadJitDump(file.text(), 7);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].line, 0u);
  EXPECT_EQ(functions[1].line, 0u);
}

TEST(JitDump, MovedFunctionIsAtBothPlaces) {
  JitDumpFile file(7);
  file.AddLoad(0x1000, 0x20, 1, "f");
  file.AddMove(0x1000, 0x5000, 0x20, 1);
  file.AddMove(0x1000, 0x6000, 0x20, 99);
  file.AddLoad(0x1000, 0x20, 2, "g");
  const PerfMap map("", file.text(), 7);
  EXPECT_EQ(map.Find(0x1010), "g");
  EXPECT_EQ(map.Find(0x5010), "f");
  EXPECT_EQ(map.Find(0x6010), "");
}

TEST(JitDump, DumpCountsWhereTheMapHasTheSameFunction) {
  JitDumpFile file(7);
  file.AddPlaces(0x1000, {{0x1000, 5, "/srv/b.cs"}});
  file.AddLoad(0x1000, 0x20, 1, "dumped");
  const PerfMap map("1000 20 mapped\n2000 10 JS:~h /srv/app.js:12:3\n", file.text(), 7);
  const GeneratedFunction dumped = map.FindFunction(0x1001);
  EXPECT_EQ(dumped.name, "dumped");
  EXPECT_EQ(dumped.file, "/srv/b.cs");
  EXPECT_EQ(dumped.line, 5u);
  EXPECT_EQ(map.FindFunction(0x2001).line, 12u);
  EXPECT_EQ(map.FindFunction(0x3000).name, "");
}

TEST(JitDump, DumpOfAnotherProcessOrOtherBytesIsNone) {
  JitDumpFile file(7);
  file.AddLoad(0x1000, 0x20, 1, "f");
  EXPECT_TRUE(ReadJitDump(file.text(), 8).empty());
  std::string swapped = file.text();
  std::swap(swapped[0], swapped[3]);
  std::swap(swapped[1], swapped[2]);
  EXPECT_TRUE(ReadJitDump(swapped, 7).empty());
  EXPECT_TRUE(ReadJitDump("", 7).empty());
}

TEST(JitDump, WhatIsCutEndsTheList) {
  JitDumpFile file(7);
  file.AddLoad(0x1000, 0x20, 1, "f");
  const size_t whole = file.text().size();
  file.AddPlaces(0x2000, {{0x2000, 5, "/srv/b.cs"}});
  file.AddLoad(0x2000, 0x20, 2, "g");
  ASSERT_EQ(ReadJitDump(file.text(), 7).size(), 2u);
  for (size_t size = whole; size < file.text().size(); ++size) {
    EXPECT_EQ(ReadJitDump(file.text().substr(0, size), 7).size(), 1u) << size;
  }
}

TEST(JitDump, CodeThatCannotBeIsLeftOut) {
  JitDumpFile file(7);
  file.AddLoad(UINT64_MAX - 3, 0x20, 1, "wraps");
  file.AddLoad(0x1000, uint64_t{1} << 40, 2, "huge");
  file.AddLoad(0x1000, 0, 3, "empty");
  file.AddLoad(0x1000, 0x10, 4, "");
  file.AddMove(0x1000, 0x5000, 0x20, 1);
  file.AddLoad(0x1000, 0x10, 5, "good");
  file.AddMove(0x1000, 0x6000, 0x20, 1);
  file.AddLoad(0x1000, 0, 5, "again");
  file.AddMove(0x1000, 0x7000, 0x20, 5);
  const auto functions = ReadJitDump(file.text(), 7);
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].name, "good");
}

TEST(PerfMap, FunctionsAreFoundByTheirExtent) {
  const PerfMap map("1000 20 JS:~f /a b.js:1:2\n0x2000 10 g\n");
  EXPECT_EQ(map.Find(0xfff), "");
  EXPECT_EQ(map.Find(0x1000), "JS:~f /a b.js:1:2");
  EXPECT_EQ(map.Find(0x101f), "JS:~f /a b.js:1:2");
  EXPECT_EQ(map.Find(0x1020), "");
  EXPECT_EQ(map.Find(0x200f), "g");
}

TEST(PerfMap, TheLastOfAPlaceCounts) {
  const PerfMap map("1000 100 old\n1080 10 inside\n1200 10 other\n1050 80 new\n1200 10 other2\n");
  EXPECT_EQ(map.Find(0x1000), "");
  EXPECT_EQ(map.Find(0x1050), "new");
  EXPECT_EQ(map.Find(0x1085), "new");
  EXPECT_EQ(map.Find(0x1205), "other2");
}

TEST(PerfMap, WhatIsNoLineIsPassedOver) {
  const PerfMap map(
      "\nx\n10\n10 0 none\n10 \n10 5\n10 5 \nffffffffffffffff 5 wraps\n10 fffffffffff huge\n"
      "-1 5 sign\n123456789012345678 5 long\n20 5 last");
  EXPECT_EQ(map.Find(0x10), "");
  EXPECT_EQ(map.Find(0xffffffffffffffff), "");
  EXPECT_EQ(map.Find(0x24), "last");
}

TEST(ParseGeneratedName, V8sNamesHaveAPlace) {
  const auto parsed = [](const char* name) {
    const GeneratedFunction function = ParseGeneratedName(name);
    return std::string(function.name) + "|" + std::string(function.file) + "|" +
           std::to_string(function.line);
  };
  EXPECT_EQ(parsed("JS:*handler /srv/a b.js:12:3"), "handler|/srv/a b.js|12");
  EXPECT_EQ(parsed("LazyCompile:~ node:internal/x:7:1"), "(anonymous)|node:internal/x|7");
  EXPECT_EQ(parsed("JS:^f /srv/app.js:4"), "f|/srv/app.js|4");
  EXPECT_EQ(parsed("JS:~f"), "JS:~f||0");
  EXPECT_EQ(parsed("JS:"), "JS:||0");
  EXPECT_EQ(parsed("void A::f(int) [Optimized]"), "void A::f(int) [Optimized]||0");
}

TEST(PerfMap, MovesWithItsText) {
  PerfMap first("10 5 f\n");  // as short as a string without memory of its own
  const PerfMap second(std::move(first));
  EXPECT_EQ(second.Find(0x10), "f");
}

class OfProcess : public ::testing::Test {
 protected:
  ~OfProcess() override { unlink(path_.c_str()); }
  // A number that no process has.
  static constexpr uint32_t kPid = 99'999'999;
  const std::string path_ = "/tmp/perf-" + std::to_string(kPid) + ".map";
};

TEST_F(OfProcess, OneThatIsOlderThanTheProcessIsOfAnother) {
  std::ofstream(path_) << "10 5 f\n";
  struct stat status;
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  const auto seconds = static_cast<uint64_t>(status.st_mtim.tv_sec);
  EXPECT_EQ(PerfMap::OfProcess(kPid, (seconds - 5) * 1'000'000'000).Find(0x10), "f");
  EXPECT_TRUE(PerfMap::OfProcess(kPid, (seconds + 5) * 1'000'000'000).empty());
}

TEST_F(OfProcess, WhatIsNoFileIsNone) {
  EXPECT_TRUE(PerfMap::OfProcess(kPid, 0).empty());
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(PerfMap::OfProcess(kPid, 0).empty());
}

}  // namespace
}  // namespace allomon::recording

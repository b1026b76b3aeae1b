#include "tools/load/recording/perf_map.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

namespace allomon::recording {
namespace {

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

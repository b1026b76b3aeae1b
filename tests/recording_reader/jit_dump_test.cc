#include "tools/load/recording/jit_dump.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "tests/recording_reader/support/jit_dump_file.h"
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

}  // namespace
}  // namespace allomon::recording

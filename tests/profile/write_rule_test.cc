#include "tracker/profile/control/write_rule.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace allomon {
namespace {

class WriteRuleTest : public ::testing::Test {
 protected:
  WriteRuleTest() : path_(::testing::TempDir() + "write_rule_test.out") {
    std::filesystem::remove(path_);
  }

  // Writes a file with that total and a time `seconds` after the rule's beginning.
  void Put(int total, int seconds, const std::string& kind = "alloc") {
    std::ofstream(path_) << "MLton prof\n" << kind << "\ncurrent\n0x0\n" << total << " 0\n0\n0\n";
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    const timespec times[2] = {{now.tv_sec + seconds, 0}, {now.tv_sec + seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  bool IsWritten(MlmonInt total, bool live = false) {
    return rule_.ReasonAgainst(path_, {ProfileKind::kAlloc, live, total}).empty();
  }

  const std::string path_;
  WriteRule rule_;
};

TEST_F(WriteRuleTest, WhereNothingIsAnEmptyProfileIsWritten) { EXPECT_TRUE(IsWritten(0)); }

TEST_F(WriteRuleTest, OtherFilesAreReplaced) {
  std::ofstream(path_) << "MLton prof\nalloc\ncurrent\n0x0\nno number\n";
  EXPECT_TRUE(IsWritten(0));
  std::ofstream(path_) << "";
  EXPECT_TRUE(IsWritten(0));
}

TEST_F(WriteRuleTest, EmptyProfileReplacesNoneWithSamples) {
  for (const int seconds : {-1000, 1000}) {
    Put(5, seconds);
    EXPECT_FALSE(IsWritten(0));
    EXPECT_TRUE(IsWritten(6));
    Put(0, seconds);
    EXPECT_TRUE(IsWritten(0));
  }
}

TEST_F(WriteRuleTest, NothingLiveIsNewsIfTheFileIsOld) {
  Put(5, -1000);
  EXPECT_TRUE(IsWritten(0, true));
  Put(5, 1000);
  EXPECT_FALSE(IsWritten(0, true));
}

TEST_F(WriteRuleTest, LargerOneThatWasWrittenMeanwhileStays) {
  Put(5, 1000);
  EXPECT_FALSE(IsWritten(4));
  EXPECT_TRUE(IsWritten(5));
  Put(5, -1000);
  EXPECT_TRUE(IsWritten(4));
  Put(5, 1000, "time");
  EXPECT_TRUE(IsWritten(4));
}

TEST_F(WriteRuleTest, OwnFileIsReplaced) {
  Put(5, 1000);
  rule_.NoteWritten(path_);
  EXPECT_TRUE(IsWritten(0));
  EXPECT_TRUE(IsWritten(4));
}

TEST_F(WriteRuleTest, WhatWasDemandedIsTheLeast) {
  rule_.Demand(10);
  EXPECT_FALSE(IsWritten(9));
  EXPECT_TRUE(IsWritten(10));
  EXPECT_EQ(rule_.last_total(), 10);
}

// Programs begin and end within one tick of the kernel's clock, and a file's time may be finer.
TEST_F(WriteRuleTest, WhatWasThereAtTheStartIsOldWhateverItsTime) {
  Put(10, 1000);
  rule_.NoteAtStart(path_);
  EXPECT_TRUE(IsWritten(5));
}

TEST_F(WriteRuleTest, WhatCameAfterTheStartIsNewWhateverItsTime) {
  rule_.NoteAtStart(path_);
  Put(10, -1000);
  EXPECT_FALSE(IsWritten(5));
}

}  // namespace
}  // namespace allomon

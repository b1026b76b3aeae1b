// Properties of the files that callgrind_annotate and ms_print do not report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/interchange/example_profile.h"
#include "tools/export/export.h"

namespace allomon::interchange {
namespace {

using heap::HeapProfile;
using heap::Metric;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CallgrindTest, MetricThatWasAskedForComesFirst) {
  const std::string text = testing::Export("callgrind", testing::OddProfile(), Metric::kTemporary);
  EXPECT_THAT(text, HasSubstr("\nevents: temporary_bytes temporary_blocks alloc_bytes "));
}

TEST(CallgrindTest, BlocksThatAreNotKnownAreNoEvent) {
  HeapProfile profile = testing::OddProfile();
  profile.has_blocks = false;
  EXPECT_THAT(testing::Export("callgrind", profile, Metric::kLive), Not(HasSubstr("_blocks")));
}

// The format has one line per entry: a name with a newline would begin a line of its own.
TEST(CallgrindTest, NamesCannotForgeLines) {
  HeapProfile profile = testing::OddProfile();
  profile.functions[0].name = "main\n99 1000000 1 1 1 1 1 1 1\nfn=forged";
  profile.functions[0].file = "\n";
  profile.command = "prog\nevents: forged";
  const std::string text = testing::Export("callgrind", profile, Metric::kLive);
  EXPECT_THAT(text, Not(HasSubstr("\nfn=forged")));
  EXPECT_THAT(text, Not(HasSubstr("\nevents: forged")));
  EXPECT_THAT(text, Not(HasSubstr("\n99 1000000")));
}

TEST(MassifTest, NamesCannotForgeLinesOrComments) {
  HeapProfile profile = testing::OddProfile();
  profile.functions[0].name = "main#1\nsnapshot=7";
  profile.command = "prog #1\nsnapshot=8";
  const std::string text = testing::Export("massif", profile, Metric::kLive);
  EXPECT_THAT(text, HasSubstr("main@1 snapshot=7"));
  EXPECT_THAT(text, HasSubstr("cmd: prog @1 snapshot=8\n"));
}

// ms_print recurses for each level, and lines are indented by their level.
TEST(MassifTest, DeepRecursionIsCut) {
  HeapProfile profile = testing::LargeProfile(1);
  profile.samples[0].stack.assign(100000, 5);
  const std::string text = testing::Export("massif", profile, Metric::kLive);
  EXPECT_LT(text.size(), 200000u);
  EXPECT_THAT(text, HasSubstr("n1: "));
}

TEST(MassifTest, ManySmallStacksAreOneLine) {
  HeapProfile profile = testing::LargeProfile(5000);
  profile.timeline.clear();
  const std::string text = testing::Export("massif", profile, Metric::kPeak);
  EXPECT_THAT(text, HasSubstr(" places, all below the threshold"));
}

TEST(MassifTest, WhatWasAllocatedIsNotInUse) {
  const auto files = FindExportFormat("massif")->run(testing::OddProfile(), Metric::kAllocated);
  ASSERT_FALSE(files.ok());
  EXPECT_THAT(std::string(files.status().message()), HasSubstr("callgrind"));
}

}  // namespace
}  // namespace allomon::interchange

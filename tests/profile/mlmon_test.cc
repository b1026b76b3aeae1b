#include "tracker/formats/mlmon.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/profile/golden_files.h"

namespace allomon {
namespace {

const char kHead[] = "MLton prof\nalloc\ncurrent\n0x1\n";

// Returns the error, or "" if the text is a profile.
std::string ParseError(std::string_view text) {
  Mlmon profile;
  std::string error;
  return ParseMlmon(text, &profile, &error) ? "" : error;
}

Mlmon ParseOrDie(const std::string& text) {
  Mlmon profile;
  std::string error;
  EXPECT_TRUE(ParseMlmon(text, &profile, &error)) << error << "\n" << text;
  return profile;
}

TEST(MlmonTest, RealFilesSurviveByteForByte) {
  for (const std::string& path : testing::GoldenFiles(".out")) {
    const std::string text = testing::ReadFileOrDie(path);
    EXPECT_EQ(FormatMlmon(ParseOrDie(text)), text) << path;
  }
}

TEST(MlmonTest, NumbersLandInTheirFields) {
  const Mlmon profile =
      ParseOrDie("MLton prof\ntime\nstack\n0xbdb93c6a\n7 8\n1\n1 2 3\n2\n4 5 6\n7 8 9\n");
  EXPECT_EQ(profile.kind, ProfileKind::kTime);
  EXPECT_EQ(profile.style, ProfileStyle::kStack);
  EXPECT_EQ(profile.magic, 0xbdb93c6au);
  EXPECT_TRUE(profile.total == 7 && profile.total_gc == 8);
  ASSERT_EQ(profile.splits.size(), 1u);
  ASSERT_EQ(profile.masters.size(), 2u);
  EXPECT_TRUE(profile.splits[0].stack == 2);
  EXPECT_TRUE(profile.masters[1].stack_gc == 9);
}

TEST(MlmonTest, FirstThreeLinesMustBeExact) {
  EXPECT_EQ(ParseError("MLton Prof\n"), "bad header");
  EXPECT_EQ(ParseError("MLton prof \n"), "bad header");
  EXPECT_EQ(ParseError("MLton prof\r\n"), "bad header");
  EXPECT_EQ(ParseError("\nMLton prof\n"), "bad header");
  EXPECT_EQ(ParseError("MLton prof\nalloc\r\n"), "invalid profile kind");
  EXPECT_EQ(ParseError("MLton prof\nfield\n"), "invalid profile kind");
  EXPECT_EQ(ParseError("MLton prof\nalloc\nStack\n"), "invalid profile style");
}

TEST(MlmonTest, EveryTruncationIsAnError) {
  const std::string text =
      testing::ReadFileOrDie(testing::GoldenPath("list-rev.alloc.stack-true/"
                                                 "mlmon.out"));
  size_t last_line = text.rfind('\n', text.size() - 2) + 1;
  for (size_t size = 0; size <= last_line; ++size) {
    EXPECT_NE(ParseError(std::string_view(text).substr(0, size)), "") << size;
  }
  EXPECT_EQ(ParseError(""), "unexpected end of mlmon file");
  EXPECT_EQ(ParseError("MLton prof"), "unexpected end of mlmon file");
}

TEST(MlmonTest, MissingLastNewlineAndTrailingTextAreFine) {
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n0\n1\n5"), "");
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n0\n1\n5\njunk\n"), "");
}

TEST(MlmonTest, MagicErrors) {
  const std::string head = "MLton prof\nalloc\ncurrent\n";
  EXPECT_EQ(ParseError(head + "magic\n"), "invalid magic");
  EXPECT_EQ(ParseError(head + "0x100000000\n"), "Overflow: the magic number has more than 32 bits");
}

TEST(MlmonTest, TotalsAreTwoTokens) {
  EXPECT_EQ(ParseError(std::string(kHead) + "1\n"), "invalid totals");
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2 3\n"), "invalid totals");
  EXPECT_EQ(ParseError(std::string(kHead) + "1 x\n"), "invalid count");
  EXPECT_EQ(ParseError(std::string(kHead) + "\t1\t 2x \n0\n0\n"), "");
}

TEST(MlmonTest, CurrentCountIgnoresWhatFollowsTheNumber) {
  Mlmon profile = ParseOrDie(std::string(kHead) + "1 2\n2\n0x400\n 7 8\n0\n");
  EXPECT_TRUE(profile.splits[0].current == 0);
  EXPECT_TRUE(profile.splits[1].current == 7);
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n1\nx\n0\n"), "invalid count");
}

TEST(MlmonTest, StackCountIsThreeTokens) {
  const std::string head = "MLton prof\nalloc\nstack\n0x1\n1 2\n1\n";
  EXPECT_EQ(ParseError(head + "1 2\n"), "strange line: 1 ");
  EXPECT_EQ(ParseError(head + "1 2 3 4\n"), "strange line: 1 2 3 ");
  EXPECT_EQ(ParseError(head + "\n"), "strange line: ");
  EXPECT_EQ(ParseError(head + "1 x 3\n"), "invalid count");
}

TEST(MlmonTest, NegativeCountsAreRead) {
  Mlmon profile = ParseOrDie(std::string(kHead) + "1 2\n1\n~5\n1\n-6\n");
  EXPECT_TRUE(profile.splits[0].current == -5);
  EXPECT_TRUE(profile.masters[0].current == -6);
}

TEST(MlmonTest, CountsBeyond64Bits) {
  const std::string big = "170141183460469231731687303715884105727";
  const std::string text =
      "MLton prof\nalloc\ncurrent\n0x00000001\n" + big + " 0\n1\n" + big + "\n0\n";
  EXPECT_EQ(FormatMlmon(ParseOrDie(text)), text);
  EXPECT_EQ(ParseError(std::string(kHead) + big + "0 0\n"),
            "Overflow: a count has more than 127 bits");
}

// A reader that trusts the number of lines allocates 96 GiB here.
TEST(MlmonTest, HugeLengthDoesNotReserveMemory) {
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n2147483647\n1\n"),
            "unexpected end of mlmon file");
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n2147483648\n1\n"), "invalid number of counts");
  EXPECT_EQ(ParseError(std::string(kHead) + "1 2\n-1\n"), "invalid number of counts");
}

Mlmon SmallProfile() {
  return ParseOrDie("MLton prof\nalloc\nstack\n0x1\n10 1\n1\n1 2 3\n1\n4 5 6\n");
}

std::string MergeError(const Mlmon& other, Mlmon sum) {
  std::string error;
  const std::string before = FormatMlmon(sum);
  if (MergeMlmon(other, &sum, &error)) return "";
  EXPECT_EQ(FormatMlmon(sum), before) << "a failed merge must change nothing";
  return error;
}

TEST(MlmonTest, MergeAddsEveryNumber) {
  Mlmon sum = SmallProfile();
  std::string error;
  ASSERT_TRUE(MergeMlmon(SmallProfile(), &sum, &error)) << error;
  EXPECT_EQ(FormatMlmon(sum),
            "MLton prof\nalloc\nstack\n0x00000001\n20 2\n1\n2 4 6\n1\n8 10 "
            "12\n");
}

TEST(MlmonTest, MergeOfRealFilesIsTheirSum) {
  Mlmon sum = ParseOrDie(
      testing::ReadFileOrDie(testing::GoldenPath("fib-tak.alloc.stack-true/mlmon.fib.out")));
  const Mlmon tak = ParseOrDie(
      testing::ReadFileOrDie(testing::GoldenPath("fib-tak.alloc.stack-true/mlmon.tak.out")));
  const MlmonInt total = sum.total;
  std::string error;
  ASSERT_TRUE(MergeMlmon(tak, &sum, &error)) << error;
  EXPECT_TRUE(sum.total == total + tak.total);
}

// Each profile differs from the first in its field and in all those checked
// later.
TEST(MlmonTest, MergeChecksMagicThenStyleThenLengthThenKind) {
  Mlmon other = SmallProfile();
  other.kind = ProfileKind::kTime;
  EXPECT_EQ(MergeError(other, SmallProfile()), "Kind.merge");
  other.masters.emplace_back();
  EXPECT_EQ(MergeError(other, SmallProfile()), "Vector.map2i");
  other.style = ProfileStyle::kCurrent;
  EXPECT_EQ(MergeError(other, SmallProfile()),
            "cannot merge -profile-stack false with -profile-stack true");
  other.magic = 2;
  EXPECT_EQ(MergeError(other, SmallProfile()), "wrong magic number");
}

TEST(MlmonTest, MergeChecksTheSplitsLengthToo) {
  Mlmon other = SmallProfile();
  other.splits.clear();
  EXPECT_EQ(MergeError(other, SmallProfile()), "Vector.map2i");
}

TEST(MlmonTest, MergeThatOverflowsChangesNothing) {
  Mlmon huge = SmallProfile();
  const MlmonInt half = static_cast<MlmonInt>(1) << 126;
  huge.masters[0].stack_gc = half - 1 + half;
  EXPECT_EQ(MergeError(huge, huge), "Overflow: a sum of counts has more than 127 bits");
}

}  // namespace
}  // namespace allomon

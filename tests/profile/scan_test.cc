#include "tracker/formats/scan.h"

#include <gtest/gtest.h>

#include <string>

namespace allomon::internal {
namespace {

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

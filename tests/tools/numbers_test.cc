#include "tools/text/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace allomon::mlprof {
namespace {

TEST(NumbersTest, MinusIsATilde) {
  EXPECT_EQ(FormatFixed(-1.5, 1), "~1.5");
  EXPECT_EQ(FormatFixed(-0.01, 1), "~0.0") << "Standard ML keeps the sign";
  EXPECT_EQ(FormatFixed(-0.0, 1), "0.0");
  EXPECT_EQ(FormatCommas(-1234), "~1,234");
  EXPECT_EQ(FormatCommas(-123), "~123");
}

TEST(NumbersTest, ExactHalvesRoundToEven) {
  EXPECT_EQ(FormatFixed(0.25, 1), "0.2");
  EXPECT_EQ(FormatFixed(0.75, 1), "0.8");
  EXPECT_EQ(FormatFixed(0.05, 1), "0.1") << "0.05 is a little more in binary";
}

TEST(NumbersTest, PercentagesOfAnyMagnitude) { EXPECT_EQ(FormatFixed(1e300, 1).size(), 303u); }

TEST(NumbersTest, CommasEveryThreeDigitsFromTheEnd) {
  EXPECT_EQ(FormatCommas(0), "0");
  EXPECT_EQ(FormatCommas(999), "999");
  EXPECT_EQ(FormatCommas(1000), "1,000");
  EXPECT_EQ(FormatCommas(1234567), "1,234,567");
}

std::string Real(const char* text) {
  double value = 0;
  return ScanReal(text, &value) ? FormatFixed(value, 3) : "none";
}

TEST(NumbersTest, RealEndsWhereItStopsBeingOne) {
  EXPECT_EQ(Real("5"), "5.000");
  EXPECT_EQ(Real(" 5.25%"), "5.250");
  EXPECT_EQ(Real("5."), "5.000");
  EXPECT_EQ(Real(".5"), "0.500");
  EXPECT_EQ(Real("5e"), "5.000");
  EXPECT_EQ(Real("5e1"), "50.000");
  EXPECT_EQ(Real("5.5E~1x"), "0.550");
  EXPECT_EQ(Real("0x10"), "0.000") << "C would read sixteen";
  EXPECT_EQ(Real("1,5"), "1.000");
}

TEST(NumbersTest, RealSigns) {
  EXPECT_EQ(Real("~5"), "~5.000");
  EXPECT_EQ(Real("-5"), "~5.000");
  EXPECT_EQ(Real("+5"), "5.000");
  EXPECT_EQ(Real("- 5"), "none");
}

TEST(NumbersTest, RealIsNotThere) {
  EXPECT_EQ(Real(""), "none");
  EXPECT_EQ(Real("."), "none");
  EXPECT_EQ(Real("e5"), "none");
  EXPECT_EQ(Real("x"), "none");
}

TEST(NumbersTest, RealBeyondTheReals) {
  double value = 0;
  ASSERT_TRUE(ScanReal("-inf", &value));
  EXPECT_TRUE(std::isinf(value) && value < 0);
  ASSERT_TRUE(ScanReal("NaN", &value));
  EXPECT_TRUE(std::isnan(value));
  ASSERT_TRUE(ScanReal("1e99999999999999999999", &value));
  EXPECT_TRUE(std::isinf(value));
}

}  // namespace
}  // namespace allomon::mlprof

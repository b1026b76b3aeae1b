// Compares with the C library's functions in extended precision.  All seeds are fixed.
#include "tracker/sampling/elementary.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace allomon::internal {
namespace {

constexpr long double kRelativeError = 0x1p-50L;
constexpr int kPoints = 1000000;

// Uniform in (0, 1), times a power of two between 2^-range and 1.
class Magnitudes {
 public:
  explicit Magnitudes(unsigned range) : range_(range) {}
  double Next() {
    const double unit = (static_cast<double>(random_() >> 11) + 0.5) * 0x1p-53;
    return std::ldexp(unit, -static_cast<int>(random_() % (range_ + 1)));
  }

 private:
  const unsigned range_;
  std::mt19937_64 random_{1};
};

void ExpectClose(double found, long double expected, double at) {
  ASSERT_LE(std::fabs(found - expected), kRelativeError * std::fabs(expected)) << "at " << at;
}

TEST(ElementaryTest, LogarithmsOfAllMagnitudes) {
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double x = magnitudes.Next();
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(1 / x), std::log(static_cast<long double>(1 / x)), x));
  }
}

// The table's entry next to 1 must be 1 itself: otherwise only rounding errors remain.
TEST(ElementaryTest, LogarithmsNextToOneOnBothSides) {
  EXPECT_EQ(Log(1), 0);
  Magnitudes magnitudes(52);
  for (int i = 0; i < kPoints; ++i) {
    for (const double sign : {-0.5, 0.5}) {
      const double x = 1 + sign * magnitudes.Next();
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    }
  }
}

// The borders between entries of the table, and the ends of each octave.
TEST(ElementaryTest, LogarithmsAtTheSeamsOfTheTable) {
  for (double seam = 0.5; seam <= 2; seam += 0x1p-9) {
    for (const double toward : {0.0, 3.0}) {
      const double x = std::nextafter(seam, toward);
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(x), std::log(static_cast<long double>(x)), x));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log(seam), std::log(static_cast<long double>(seam)), seam));
  }
}

TEST(ElementaryTest, LogarithmsOfTheEndsOfTheRange) {
  for (const double x : {std::numeric_limits<double>::min(), std::numeric_limits<double>::max()}) {
    ExpectClose(Log(x), std::log(static_cast<long double>(x)), x);
  }
}

// A rate of 1e-300 must be as accurate as one of 0.5.
TEST(ElementaryTest, RatesThatDisappearBesideOne) {
  EXPECT_EQ(Log1p(0), 0);
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double x = -magnitudes.Next();
    ASSERT_NO_FATAL_FAILURE(ExpectClose(Log1p(x), std::log1p(static_cast<long double>(x)), x));
  }
}

TEST(ElementaryTest, ProbabilitiesThatAreNextToNothingAndNextToCertain) {
  EXPECT_EQ(Expm1(0), 0);
  EXPECT_EQ(Expm1(-1e300), -1);
  EXPECT_EQ(Expm1(-std::numeric_limits<double>::infinity()), -1);
  Magnitudes magnitudes(1000);
  for (int i = 0; i < kPoints; ++i) {
    const double small = -magnitudes.Next();
    for (const double x : {small, 64 * small}) {
      ASSERT_NO_FATAL_FAILURE(ExpectClose(Expm1(x), std::expm1(static_cast<long double>(x)), x));
    }
  }
}

}  // namespace
}  // namespace allomon::internal

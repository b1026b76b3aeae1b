#include "tracker/sampling/elementary.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "tracker/base/check.h"

namespace allomon::internal {
namespace {

constexpr long double kLn2 = 0.693147180559945309417232121458176568L;

// Multiples of kLn2High by whole numbers below 2^20 are exact.
constexpr double kLn2High =
    static_cast<double>(static_cast<int64_t>(kLn2 * (1LL << 32))) / (1LL << 32);
constexpr double kLn2Low = static_cast<double>(kLn2 - kLn2High);

constexpr int kMantissaBits = 52;
constexpr int kTableBits = 7;
constexpr int kTableSize = 1 << kTableBits;
constexpr int kIndexShift = kMantissaBits - kTableBits;

// A number is split into z * 2^k with z in [0.6875, 1.375).  So k is 0 for numbers close to 1, on
// either side, and there is no cancellation.
constexpr uint64_t kLeastBits = 0x3fe6000000000000;
constexpr double kLeast = 0.6875;
// The table index of the numbers just above 1; the index before it is for those just below.
// Intervals below 1 are 2^-8 wide, those above 2^-7.
constexpr int kOneIndex = 80;

// log(z) = log(z * inverse) - log(inverse), where z * inverse is within 2^-7 of 1.
struct Place {
  double inverse;      // of 12 bits, so that its product with 40 bits is exact
  double log_inverse;  // negated
};

// The logarithm by the series of 2 artanh((x - 1) / (x + 1)), for x between 0.5 and 2.
constexpr long double LogSeries(long double x) {
  const long double t = (x - 1) / (x + 1);
  long double power = t;
  long double sum = 0;
  for (int n = 1; n < 60; n += 2, power *= t * t) sum += power / n;
  return 2 * sum;
}

constexpr double LowEndOf(int i) {
  return i < kOneIndex ? kLeast + i * 0x1p-8 : 1 + (i - kOneIndex) * 0x1p-7;
}

constexpr Place MakePlace(int i) {
  if (i == kOneIndex - 1 || i == kOneIndex) return {1, 0};
  const double middle = (LowEndOf(i) + LowEndOf(i + 1)) / 2;
  const double inverse = static_cast<double>(static_cast<int>(0x1p11 / middle + 0.5)) * 0x1p-11;
  return {inverse, static_cast<double>(-LogSeries(inverse))};
}

constexpr std::array<Place, kTableSize> MakePlaces() {
  std::array<Place, kTableSize> places{};
  for (int i = 0; i < kTableSize; ++i) places[static_cast<size_t>(i)] = MakePlace(i);
  return places;
}

constexpr std::array<Place, kTableSize> kPlaces = MakePlaces();

// log(1 + r) - r for |r| <= 2^-7, where the ninth power is negligible.
double LogTail(double r) {
  const double r2 = r * r;
  const double low = -1.0 / 2 + r * (1.0 / 3);
  const double middle = -1.0 / 4 + r * (1.0 / 5);
  const double high = -1.0 / 6 + r * (1.0 / 7) - r2 * (1.0 / 8);
  return r2 * (low + r2 * (middle + r2 * high));
}

double FromBits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

uint64_t ToBits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// 1/n!, of the series of exp.
constexpr double kInverseFactorial[] = {1,
                                        1.0 / 2,
                                        1.0 / 6,
                                        1.0 / 24,
                                        1.0 / 120,
                                        1.0 / 720,
                                        1.0 / 5040,
                                        1.0 / 40320,
                                        1.0 / 362880,
                                        1.0 / 3628800,
                                        1.0 / 39916800,
                                        1.0 / 479001600,
                                        1.0 / 6227020800,
                                        1.0 / 87178291200};

// exp(r) - 1 for |r| <= log(2) / 2.
double Expm1Series(double r) {
  double sum = 0;
  for (int n = std::size(kInverseFactorial) - 1; n >= 1; --n)
    sum = r * (kInverseFactorial[n] + sum);
  return r + r * sum;
}

}  // namespace

double Log(double x) {
  const uint64_t bits = ToBits(x);
  const uint64_t above = bits - kLeastBits;
  const int64_t k = static_cast<int64_t>(above) >> kMantissaBits;
  ALLOMON_DCHECK("inv.law.domain", x > 0);
  const Place& place = kPlaces[(above >> kIndexShift) % kTableSize];
  const uint64_t z_bits = bits - (static_cast<uint64_t>(k) << kMantissaBits);
  const double z = FromBits(z_bits);
  const double z_high = FromBits(z_bits & ~uint64_t{0xfff});
  const double r_high = z_high * place.inverse - 1;  // exact
  const double r = r_high + (z - z_high) * place.inverse;
  const double whole = static_cast<double>(k);
  const double large = whole * kLn2High + place.log_inverse;
  return large + (r + (LogTail(r) + whole * kLn2Low));
}

// The sum 1 + x is rounded.  The quotient cancels the rounding to first order (Kahan; see Goldberg,
// "What every computer scientist should know about floating-point arithmetic", ACM Computing
// Surveys 23 (1991), theorem 4).
double Log1p(double x) {
  ALLOMON_DCHECK("inv.law.domain", x > -1);
  const double sum = 1 + x;
  return sum == 1 ? x : Log(sum) * (x / (sum - 1));
}

double Expm1(double x) {
  constexpr double kAllIsLost = -40;  // exp() of it is less than half an ulp of -1
  if (x < kAllIsLost) return -1;
  ALLOMON_DCHECK("inv.law.domain", x <= 0);
  const double k = static_cast<double>(static_cast<int>(x / static_cast<double>(kLn2) - 0.5));
  const double r = (x - k * kLn2High) - k * kLn2Low;
  const double scale =
      FromBits(static_cast<uint64_t>(1023 + static_cast<int64_t>(k)) << kMantissaBits);
  return scale * Expm1Series(r) + (scale - 1);
}

}  // namespace allomon::internal

#include "tools/heap/incomplete_beta.h"

#include <cmath>
#include <initializer_list>

namespace allomon::heap {
namespace {

constexpr double kTiny = 1e-300;
constexpr double kPrecision = 1e-13;
constexpr int kMostSteps = 10000;

double NotZero(double value) { return std::fabs(value) < kTiny ? kTiny : value; }

// Evaluates the continued fraction 1 / (1 + d1 / (1 + d2 / (1 + ...))) of the function, by the
// method of Lentz: products of ratios from the front.  It converges fast if x < (a + 1) / (a + b +
// 2).
double Fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 / NotZero(1 - (a + b) * x / (a + 1));
  double value = d;
  for (int m = 1; m <= kMostSteps; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double coefficient : {even, odd}) {
      d = 1 / NotZero(1 + coefficient * d);
      c = NotZero(1 + coefficient / c);
      step = c * d;
      value *= step;
    }
    if (std::fabs(step - 1) < kPrecision) break;
  }
  return value;
}

double LogBeta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

}  // namespace

double IncompleteBeta(double a, double b, double x) {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(a * std::log(x) + b * std::log1p(-x) - LogBeta(a, b));
  if (x < (a + 1) / (a + b + 2)) return front * Fraction(a, b, x) / a;
  return 1 - front * Fraction(b, a, 1 - x) / b;
}

}  // namespace allomon::heap

// Bounds for the distance of a random result from its expectation.
#ifndef ALLOMON_TESTS_SUPPORT_STATISTICS_H_
#define ALLOMON_TESTS_SUPPORT_STATISTICS_H_

#include <cmath>

namespace allomon::testing {

// A normal variable exceeds this distance from its mean once in 83 million draws (two-sided).  So a
// test with a fixed seed that passes once always passes, and the bound does not hide a wrong law.
inline constexpr double kSigmas = 5.7;

// Returns the greatest allowed distance of a binomial count from its mean.  The normal
// approximation holds if trials * p and trials * (1 - p) exceed 100; otherwise Bernstein's
// inequality, which always holds, gives the distance for the same chance, 1.2e-8.
inline double BinomialTolerance(double trials, double p) {
  const double variance = trials * p * (1 - p);
  if (variance > 100) return kSigmas * std::sqrt(variance);
  const double log_chance = std::log(2 / 1.2e-8);
  return log_chance / 3 + std::sqrt(log_chance * log_chance / 9 + 2 * log_chance * variance);
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_STATISTICS_H_

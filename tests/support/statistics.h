// How far a random result may lie from its expectation.
#ifndef ALLOMON_TESTS_SUPPORT_STATISTICS_H_
#define ALLOMON_TESTS_SUPPORT_STATISTICS_H_

#include <cmath>

namespace allomon::testing {

// A normal variable is further from its mean than this once in 83 million draws (two-sided).  So a
// test with a fixed seed that passes once passes always, and a wrong law does not hide behind the
// bound.
inline constexpr double kSigmas = 5.7;

// The greatest distance of a binomial count from its mean.  The normal approximation holds where
// trials * p and trials * (1 - p) exceed 100; below that, the distance is taken from Bernstein's
// inequality at the same chance, 1.2e-8, which holds everywhere.
inline double BinomialTolerance(double trials, double p) {
  const double variance = trials * p * (1 - p);
  if (variance > 100) return kSigmas * std::sqrt(variance);
  const double log_chance = std::log(2 / 1.2e-8);
  return log_chance / 3 + std::sqrt(log_chance * log_chance / 9 + 2 * log_chance * variance);
}

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_STATISTICS_H_

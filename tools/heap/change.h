// Tells whether an amount changed between two sampled profiles, or differs by chance.
//
// The test is a score test: it uses the variance that the difference has if nothing changed, so
// each side's blocks are evidence on both.  Let a block have size s and be sampled with probability
// p in one profile and q in the other.  If it is sampled, the estimate is that each profile has s /
// (p + q) bytes of it.  The difference then has the variance s / (p + q) (u + v), where u = s (1 -
// p) / p and v = s (1 - q) / q are the weights of one such sample.  If nothing changed, the number
// of samples in the second profile is binomial with the share u / (u + v).  For sums of several
// sizes, the number of trials is the one that gives the same kurtosis.  The p-value is two-sided,
// and counts the observed value itself by half (mid-p).  It is exact for samples of one size, and
// normal for many.
//
// All are functions of their arguments; nothing here fails.
#ifndef ALLOMON_TOOLS_HEAP_CHANGE_H_
#define ALLOMON_TOOLS_HEAP_CHANGE_H_

#include <vector>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::heap {

// The sampling of the two profiles, and the unit of comparison.
struct Comparison {
  Sampling before;
  Sampling after;
  bool blocks = false;  // false: in bytes

  bool IsWhole() const { return before.is_whole && after.is_whole; }
  bool IsTestable() const { return IsWhole() && before.IsKnown() && after.IsKnown(); }
};

// An amount in two profiles.
struct ChangeSums {
  Estimate before;
  Estimate after;
  double variance = 0;     // of the difference, if nothing changed
  double inverse = 0;      // sum of squared variances divided by their numbers of trials
  double after_share = 0;  // share of `after` in the trials, weighted by variance

  void Add(const ChangeSums& other);
};

ChangeSums BeforeOf(const Amount& amount, const Sample& sample, const Comparison& comparison);
ChangeSums AfterOf(const Amount& amount, const Sample& sample, const Comparison& comparison);

double Difference(const ChangeSums& sums, bool blocks);

// Returns the interval that contains the true difference in 95 of 100 pairs of runs.  It is
// computed from the intervals of the two amounts (Zou and Donner 2008).
Interval DifferenceInterval(const ChangeSums& sums, bool blocks);

// Returns the probability that chance alone makes a difference of this size or more.
double PValue(const ChangeSums& sums, bool blocks);

// Returns the least p-value that a row with so many samples can have.
double LeastPValue(const ChangeSums& sums);

// Returns for rows that are tested together which changes are not chance.  The probability that any
// row is marked by chance is at most `alpha`, however the rows depend on each other (Holm 1979).
// Rows that could not be marked with any outcome do not count as tests (Tarone 1990).
std::vector<bool> MarkedRows(const std::vector<double>& p_values,
                             const std::vector<double>& least_p_values, double alpha);

// The regularized incomplete beta function I_x(a, b), for a, b > 0: the probability that a beta
// variate is below x.  For integers k and n, I_x(k, n - k + 1) is the probability of k hits or more
// in n trials of probability x.  Accurate to ten digits up to a + b of a million; the cost is
// proportional to the root of a + b.
double IncompleteBeta(double a, double b, double x);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_CHANGE_H_

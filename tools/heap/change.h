// Whether an amount truly changed between two sampled profiles, or differs by chance.
//
// The test is a score test: its variance is the one that the difference has if nothing changed, so
// each side's blocks tell of both.  A sampled block of size s, with probabilities p and q to be
// sampled in the two, says that each has s / (p + q) bytes of it, and the difference then has the
// variance s / (p + q) (u + v), where u = s (1 - p) / p and v likewise are what one such sample
// stands for.  If nothing changed, the part of samples that fall to the second profile is
// binomial, with the share u / (u + v); for sums of several sizes, with the number of trials that
// gives the same kurtosis.  The p-value is that distribution's, both sides, with half the weight of
// what was met itself (mid-p): exact for samples of one size, normal for many.
//
// Functions of their arguments; nothing here fails.
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
  bool blocks = false;  // not bytes

  bool IsWhole() const { return before.is_whole && after.is_whole; }
  bool IsTestable() const { return IsWhole() && before.IsKnown() && after.IsKnown(); }
};

// An amount in two profiles.
struct ChangeSums {
  Estimate before;
  Estimate after;
  double variance = 0;     // of the difference, if nothing changed
  double inverse = 0;      // sum of squared variances by their numbers of trials
  double after_share = 0;  // of trials, weighted by variance

  void Add(const ChangeSums& other);
};

ChangeSums BeforeOf(const Amount& amount, const Sample& sample, const Comparison& comparison);
ChangeSums AfterOf(const Amount& amount, const Sample& sample, const Comparison& comparison);

double Difference(const ChangeSums& sums, bool blocks);

// The interval that holds the true difference in 95 of 100 pairs of runs, by the intervals of the
// two (Zou and Donner 2008).
Interval DifferenceInterval(const ChangeSums& sums, bool blocks);

// The probability that chance makes a difference of this size or more.
double PValue(const ChangeSums& sums, bool blocks);

// The least p-value that a row of so many samples could have.
double LeastPValue(const ChangeSums& sums);

// Of rows that are tested together: which changes are no chance, where the probability that any row
// is marked by chance is at most `alpha`, however the rows depend on each other (Holm 1979).  Rows
// that could not be marked whatever they had been do not count (Tarone 1990).
std::vector<bool> MarkedRows(const std::vector<double>& p_values,
                             const std::vector<double>& least_p_values, double alpha);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_CHANGE_H_

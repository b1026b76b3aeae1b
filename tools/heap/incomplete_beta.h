#ifndef ALLOMON_TOOLS_HEAP_INCOMPLETE_BETA_H_
#define ALLOMON_TOOLS_HEAP_INCOMPLETE_BETA_H_

namespace allomon::heap {

// The regularized incomplete beta function I_x(a, b), for a, b > 0: the probability that a beta
// variate is below x.  For integers k and n, I_x(k, n - k + 1) is the probability of k hits or more
// in n trials of probability x.  Accurate to ten digits up to a + b of a million; the cost is
// proportional to the root of a + b.
double IncompleteBeta(double a, double b, double x);

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_INCOMPLETE_BETA_H_

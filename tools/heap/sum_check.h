// Conditions of executed checks about sums (tools/README.md, "Invariants").  Builds without checks
// evaluate none of them.
#ifndef ALLOMON_TOOLS_HEAP_SUM_CHECK_H_
#define ALLOMON_TOOLS_HEAP_SUM_CHECK_H_

#include <algorithm>
#include <cmath>

#include "tools/heap/heap_profile.h"
#include "tools/heap/interval.h"

namespace allomon::heap {

// Amounts that shall add up to another one.  Doubles that are added in another order differ by
// their rounding: less than 2^-53 of the parts' sizes for each of them, of which a profile has
// fewer than 2^27.
class SumCheck {
 public:
  void Add(const Amount& part) {
    sum_.Add(part);
    sizes_.Add({std::fabs(part.blocks), std::fabs(part.bytes)});
  }
  bool Is(const Amount& whole) const {
    return Near(sum_.blocks, whole.blocks, sizes_.blocks) &&
           Near(sum_.bytes, whole.bytes, sizes_.bytes);
  }

 private:
  static double Slack(double size) { return 1e-7 * size; }
  static bool Near(double a, double b, double size) {
    return std::fabs(a - b) <= Slack(std::max(size, std::fabs(b)));
  }

  Amount sum_;
  Amount sizes_;
};

// Whether an estimate is no more than another.  Amounts of other tools' files may be below 0, so
// only numbers of samples and variances can tell.
inline bool IsPartOf(const Estimate& part, const Estimate& whole) {
  constexpr double kSlack = 1 + 1e-7;
  return part.sampled <= kSlack * whole.sampled &&
         part.bytes_variance <= kSlack * whole.bytes_variance;
}

}  // namespace allomon::heap

#endif  // ALLOMON_TOOLS_HEAP_SUM_CHECK_H_

#include "tools/report/views/ages.h"

#include <algorithm>
#include <cmath>

namespace allomon::views {

double MedianAge(const AgeHistogram& histogram) {
  double whole = 0;
  for (const heap::Estimate& estimate : histogram) whole += estimate.amount.bytes;
  if (!(whole > 0)) return 0;
  double below = 0;
  for (size_t i = 0; i < histogram.size(); ++i) {
    below += histogram[i].amount.bytes;
    if (2 * below >= whole) return i == 0 ? 1 : std::exp2(static_cast<double>(i) + 0.5);
  }
  return 0;
}

double YoungerShare(uint8_t log2_nanos, double nanos) {
  const double least = log2_nanos == 0 ? 0 : std::exp2(static_cast<double>(log2_nanos));
  const double end = std::exp2(static_cast<double>(log2_nanos) + 1);
  return std::clamp((nanos - least) / (end - least), 0.0, 1.0);
}

}  // namespace allomon::views

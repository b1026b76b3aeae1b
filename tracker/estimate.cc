#include "tracker/estimate.h"

#include "tracker/sampling/elementary.h"

namespace allomon {

double ReportProbability(uint64_t trial_words, double rate) {
  if (rate >= 1) return 1;
  return -internal::Expm1(static_cast<double>(trial_words) * internal::Log1p(-rate));
}

}  // namespace allomon

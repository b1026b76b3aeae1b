#include "tools/heap/change.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numeric>

#include "tracker/base/check.h"

namespace allomon::heap {
namespace {

constexpr double kManyTrials = 1e5;  // the normal distribution suffices for more trials
constexpr double kLeastPart = 1e-4;  // the least variance of one side, as a share of the other
                                     // side's
constexpr double kSquaredSigmas = 3.841458821;  // 95 % of the normal distribution

struct Trials {
  double count = 0;
  double after_share = 0;  // share of `after` in the trials, if nothing changed
};

// Whether it is one, up to rounding.
[[maybe_unused]] bool IsProbability(double value) { return -1e-9 <= value && value <= 1 + 1e-9; }

Trials TrialsOf(const ChangeSums& sums) {
  if (sums.variance <= 0) return {};
  const Trials trials = {
      sums.inverse > 0 ? sums.variance * sums.variance / sums.inverse : kManyTrials,
      sums.after_share / sums.variance};
  ALLOMON_DCHECK("inv.heap.probability", IsProbability(trials.after_share));
  return trials;
}

// Adds the variance that samples of one profile imply for the difference of both.
void AddTrials(const Amount& unbounded, const Sample& sample, const Sampling& sampling,
               const Comparison& comparison, ChangeSums* sums) {
  const Amount amount = Bounded(unbounded);
  if (!comparison.IsTestable() || amount.blocks <= 0 || amount.bytes < 0) return;
  const double size = amount.bytes / amount.blocks;
  const double p = EffectiveProbability(size, sample.has_header, comparison.before);
  const double q = EffectiveProbability(size, sample.has_header, comparison.after);
  const double own = EffectiveProbability(size, sample.has_header, sampling);
  const double weight = comparison.blocks ? 1 : size;
  double u = weight * (1 - p) / p;
  double v = weight * (1 - q) / q;
  if (u + v <= 0) return;
  u = std::max(u, kLeastPart * v);
  v = std::max(v, kLeastPart * u);
  const double truth = amount.blocks * own / (p + q) * weight;
  const double variance = truth * (u + v);
  sums->variance += variance;
  sums->inverse += variance * u * v;
  sums->after_share += variance * u / (u + v);
}

// Returns P(X >= k) of a binomial distribution, minus half of P(X = k); k and n need not be
// integers.
double UpperMidP(double k, const Trials& trials) {
  const double n = trials.count;
  k = std::clamp(k, 0.0, n);
  const double from = k > 0 ? IncompleteBeta(k, n - k + 1, trials.after_share) : 1;
  const double beyond = k < n ? IncompleteBeta(k + 1, n - k, trials.after_share) : 0;
  ALLOMON_DCHECK("inv.heap.probability", IsProbability(from) && IsProbability(beyond));
  return (from + beyond) / 2;
}

// Returns the interval of a side.  A side without samples gets it from the weight of one sample.
Interval SideInterval(const Estimate& estimate, bool blocks, double sample_weight) {
  const double value = blocks ? estimate.amount.blocks : estimate.amount.bytes;
  if (value <= 0) return {0, kSquaredSigmas * sample_weight};
  return blocks ? BlocksInterval(estimate) : BytesInterval(estimate);
}

}  // namespace

void ChangeSums::Add(const ChangeSums& other) {
  before.Add(other.before);
  after.Add(other.after);
  variance += other.variance;
  inverse += other.inverse;
  after_share += other.after_share;
}

ChangeSums BeforeOf(const Amount& amount, const Sample& sample, const Comparison& comparison) {
  ChangeSums sums;
  sums.before = EstimateOf(amount, sample, comparison.before);
  AddTrials(amount, sample, comparison.before, comparison, &sums);
  return sums;
}

ChangeSums AfterOf(const Amount& amount, const Sample& sample, const Comparison& comparison) {
  ChangeSums sums;
  sums.after = EstimateOf(amount, sample, comparison.after);
  AddTrials(amount, sample, comparison.after, comparison, &sums);
  return sums;
}

double Difference(const ChangeSums& sums, bool blocks) {
  const Amount& before = sums.before.amount;
  const Amount& after = sums.after.amount;
  return blocks ? after.blocks - before.blocks : after.bytes - before.bytes;
}

Interval DifferenceInterval(const ChangeSums& sums, bool blocks) {
  const double difference = Difference(sums, blocks);
  if (sums.variance <= 0) return {difference, difference};
  const Trials trials = TrialsOf(sums);
  const double share = trials.after_share;
  const double both = std::sqrt(sums.variance / (trials.count * share * (1 - share)));
  const Interval before = SideInterval(sums.before, blocks, both * share);
  const Interval after = SideInterval(sums.after, blocks, both * (1 - share));
  const double b = blocks ? sums.before.amount.blocks : sums.before.amount.bytes;
  const double a = blocks ? sums.after.amount.blocks : sums.after.amount.bytes;
  const Interval interval = {difference - std::hypot(a - after.low, before.high - b),
                             difference + std::hypot(after.high - a, b - before.low)};
  ALLOMON_DCHECK("inv.heap.interval", interval.low <= difference && difference <= interval.high);
  return interval;
}

double PValue(const ChangeSums& sums, bool blocks) {
  const double difference = Difference(sums, blocks);
  if (difference == 0) return 1;
  if (sums.variance <= 0) return 0;
  const Trials trials = TrialsOf(sums);
  if (trials.count >= kManyTrials) {
    return std::erfc(std::fabs(difference) / std::sqrt(2 * sums.variance));
  }
  const double share = trials.after_share;
  const double n = trials.count;
  const double weight = std::sqrt(sums.variance / (n * share * (1 - share)));
  const double k = n * share + difference / weight;
  const double upper = UpperMidP(k, trials);
  const double lower = UpperMidP(n - k, {n, 1 - share});
  return std::min(1.0, 2 * std::min(upper, lower));
}

double LeastPValue(const ChangeSums& sums) {
  if (sums.variance <= 0) return 0;
  const Trials trials = TrialsOf(sums);
  return std::pow(std::min(trials.after_share, 1 - trials.after_share), trials.count);
}

std::vector<bool> MarkedRows(const std::vector<double>& p_values,
                             const std::vector<double>& least_p_values, double alpha) {
  // Tarone: finds the smallest number of tests with which no more rows than that can be marked.
  ALLOMON_DCHECK_EQ("inv.heap.rows", p_values.size(), least_p_values.size());
  std::vector<double> least = least_p_values;
  std::sort(least.begin(), least.end());
  size_t tests = 1;
  while (tests < least.size() && least[tests] <= alpha / static_cast<double>(tests)) ++tests;
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&p_values](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> marked(p_values.size());
  const double most_least = alpha / static_cast<double>(tests);
  for (const size_t row : order) {
    if (least_p_values[row] > most_least) continue;
    if (tests == 0 || p_values[row] > alpha / static_cast<double>(tests)) break;
    marked[row] = true;
    --tests;
  }
  return marked;
}

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

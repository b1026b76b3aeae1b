#include "tools/gate/history/sequential_test.h"

#include <algorithm>
#include <cmath>

namespace allomon::gate {
namespace {

// The part of the capital that each bet keeps back.  A figure that does not fit a true change then
// costs a factor of 10, and not everything.
constexpr double kKept = 0.1;

// Mixes the bits of a number (Stafford's finalizer of 64 bits); equal on all machines.
uint64_t Mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A number in (0, 1).
double Uniform(uint64_t seed, uint64_t number) {
  return (static_cast<double>(Mixed(seed ^ Mixed(number)) >> 12) + 0.5) / 0x1p52;
}

// The stake of a change after the first `before` figures.  The stakes of all places add up to 1.
double Stake(size_t before) {
  const auto n = static_cast<double>(before);
  return 1 / (n * (n + 1));
}

double DistanceToMedian(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double median = *middle;
  double sum = 0;
  for (const double value : values) sum += std::abs(value - median);
  return sum;
}

}  // namespace

double SequentialTest::Rank() {
  double above = 0;
  double equal = 0;
  for (const double value : values_) {
    above += value > values_.back() ? 1 : 0;
    equal += value == values_.back() ? 1 : 0;
  }
  return (above + Uniform(seed_, added_) * equal) / static_cast<double>(values_.size());
}

double SequentialTest::Capital() const {
  // Bets on later places have not begun, and are worth their stakes.
  double capital = 1 / static_cast<double>(values_.size());
  for (size_t i = 0; i + 1 < values_.size(); ++i) {
    capital += Stake(i + 1) * (bets_[i].up + bets_[i].down) / 2;
  }
  return capital;
}

// The split that leaves the least distance to the medians of both parts.  (A rank sum is largest
// beside the place if the last figures before it were high by chance.)
size_t SequentialTest::MostLikelyPlace() const {
  size_t best = 1;
  double least = HUGE_VAL;
  for (size_t before = 1; before < values_.size(); ++before) {
    const auto middle = values_.begin() + static_cast<std::ptrdiff_t>(before);
    const double distance =
        DistanceToMedian({values_.begin(), middle}) + DistanceToMedian({middle, values_.end()});
    if (distance < least) {
      least = distance;
      best = before;
    }
  }
  return best;
}

std::optional<size_t> SequentialTest::Add(double value) {
  values_.push_back(value);
  const double rank = Rank();
  ++added_;
  const auto count = static_cast<double>(values_.size());
  for (size_t i = 0; i + 1 < values_.size(); ++i) {
    // After a change, the ranks are in the part that the figures since then have of all.
    const double part = (count - static_cast<double>(i + 1)) / count;
    bets_[i].up *= kKept + (rank <= part ? (1 - kKept) / part : 0);
    bets_[i].down *= kKept + (1 - rank <= part ? (1 - kKept) / part : 0);
  }
  bets_.push_back({});
  // The errors of all parts add up to error_.
  if (Capital() * error_ * Stake(part_) < 1) return std::nullopt;
  const size_t place = begin_ + MostLikelyPlace();
  ++part_;
  begin_ = added_;
  values_.clear();
  bets_.clear();
  return place;
}

}  // namespace allomon::gate

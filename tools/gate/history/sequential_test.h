// A sequential test for a change in figures that have noise.
//
// Hypothesis: the order of the figures says nothing about them (they are exchangeable), whatever
// their distribution.  Then the rank of each figure among those up to it is uniform and independent
// of earlier ranks (ties are ranked at random, from a fixed seed).  The test bets on ranks: for
// each place of a change, that later figures are above, or below, all earlier ones.  Its capital
// begins at 1 and is a martingale under the hypothesis, so it ever reaches 1/e with a chance of at
// most e (Ville).  So the error holds for all looks together, after each run, without an end.
#ifndef ALLOMON_TOOLS_GATE_HISTORY_SEQUENTIAL_TEST_H_
#define ALLOMON_TOOLS_GATE_HISTORY_SEQUENTIAL_TEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace allomon::gate {

class SequentialTest {
 public:
  // `error`: the chance that figures without any change are ever said to change.  `seed` ranks
  // ties.
  SequentialTest(double error, uint64_t seed) : error_(error), seed_(seed) {}

  // Adds a figure.  Returns the number of the first figure after a change, counted from 0, once the
  // test is sure that there was one.  The test then begins anew with a part of its error (1/2,
  // 1/6, 1/12...: they add up to 1), and does not use the figures up to this one again.
  std::optional<size_t> Add(double value);

 private:
  struct Bets {
    double up = 1;
    double down = 1;
  };

  // Returns the rank of the newest figure, in (0, 1): low if it is above most.
  double Rank();
  double Capital() const;
  size_t MostLikelyPlace() const;

  const double error_;
  const uint64_t seed_;
  size_t added_ = 0;  // figures in all
  size_t begin_ = 0;  // the number of values_[0]
  size_t part_ = 1;   // how often the test began
  std::vector<double> values_;
  std::vector<Bets> bets_;  // bets_[i]: the first i + 1 values are before the change
};

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_HISTORY_SEQUENTIAL_TEST_H_

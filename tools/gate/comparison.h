// What grew between two runs of benchmarks, and which call sites are behind it.
#ifndef ALLOMON_TOOLS_GATE_COMPARISON_H_
#define ALLOMON_TOOLS_GATE_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/figures.h"

namespace allomon::gate {

// Allowed growth, as a fraction of the baseline.  Allocations are counted exactly, so any growth is
// real; instruction counts of the hardware vary by less than the default.
struct Allowance {
  double allocations = 0;
  double instructions = 0.02;
};

struct Growth {
  Metric metric = kAllocations;
  double baseline = 0;
  double current = 0;
};

// A call stack, with what it allocates beyond the baseline.  Of its two numbers one may be
// negative: fewer allocations of more bytes.
struct GrownSite {
  Site growth;
  std::vector<Frame> alternatives;  // other lines of the same functions that may be the new one
};

// The innermost call that is not in the C++ library.
Frame CallOfProgram(const Site& site);

enum class Verdict { kPassed, kGrew, kRemoved, kAdded };

struct Judgement {
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::vector<Growth> growths;
  // The sites that allocate more than in the baseline, those with most first; all sites if the
  // baseline has none.  Empty without a profile.
  std::vector<GrownSite> responsible;
  // The sites of the baseline that allocate less now, with how much less; those with most first.
  // What grew less what vanished is the growth of the benchmark.
  std::vector<Site> vanished;
  // The baseline was written without a profile: what allocated before is not known.
  bool lacks_baseline_sites = false;
};

struct Comparison {
  std::vector<Judgement> judgements;  // in the baseline's order, then those added
  int compared_figures = 0;
  int shrunk_figures = 0;

  bool passed() const;
};

// Fails, naming benchmark and figure, when a figure of the baseline is missing in the current run.
// A figure that only the current run has is not compared.
absl::StatusOr<Comparison> Compare(const std::vector<Figures>& baseline,
                                   const std::vector<Figures>& current, const Allowance& allowance);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_COMPARISON_H_

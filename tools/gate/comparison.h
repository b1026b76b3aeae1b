// Finds the growth between two runs of benchmarks, and the call sites that cause it.
#ifndef ALLOMON_TOOLS_GATE_COMPARISON_H_
#define ALLOMON_TOOLS_GATE_COMPARISON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/gate/figures.h"

namespace allomon::gate {

// Allowed growth, as a fraction of the baseline.  Allocations are counted exactly, so any growth is
// real.  The hardware's instruction counts vary by less than the default.
struct Allowance {
  double allocations = 0;
  double instructions = 0.02;
};

struct Growth {
  Metric metric = kAllocations;
  double baseline = 0;
  double current = 0;
};

// A call stack, and its growth beyond the baseline.  One of the two numbers may be negative, as
// with fewer allocations of more bytes.
struct GrownSite {
  Site growth;
  std::vector<Frame> alternatives;  // other lines of the same functions that may be the new one
};

// Returns the innermost call that is not in the C++ library.
Frame CallOfProgram(const Site& site);

enum class Verdict { kPassed, kGrew, kRemoved, kAdded };

struct Judgement {
  std::string name;
  Verdict verdict = Verdict::kPassed;
  std::vector<Growth> growths;
  // The sites that allocate more than in the baseline, the largest growth first; all sites if the
  // baseline has no sites.  Empty without a profile.
  std::vector<GrownSite> responsible;
  // The sites of the baseline that allocate less now, and how much less, the largest first.  The
  // growth of the benchmark is the sum over `responsible` minus the sum over `vanished`.
  std::vector<Site> vanished;
  // The baseline was written without a profile, so the earlier sites are not known.
  bool lacks_baseline_sites = false;
};

struct Comparison {
  std::vector<Judgement> judgements;  // in the baseline's order, then added benchmarks
  int compared_figures = 0;
  int shrunk_figures = 0;

  bool passed() const;
};

// Compares two runs.  Fails if the current run lacks a figure of the baseline, and names the
// benchmark and the figure.  Ignores figures that only the current run has.
absl::StatusOr<Comparison> Compare(const std::vector<Figures>& baseline,
                                   const std::vector<Figures>& current, const Allowance& allowance);

// ---- Writes a comparison as text for people and for CI systems.

// Returns a table of the growth, and the call sites that cause it; one line if nothing grew.
std::string ToText(const Comparison& comparison);

// Returns JUnit's XML, with one test case per benchmark.
std::string ToJunit(const Comparison& comparison);

// Returns GitHub's workflow commands: one ::error per benchmark that does not pass, at the
// allocating line if that is known.
std::string ToGithub(const Comparison& comparison);

}  // namespace allomon::gate

#endif  // ALLOMON_TOOLS_GATE_COMPARISON_H_

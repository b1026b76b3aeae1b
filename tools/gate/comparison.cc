#include "tools/gate/comparison.h"

#include <algorithm>

namespace allomon::gate {
namespace {

// Tolerates rounding: counts were divided and written as decimals.  No real growth is this small.
constexpr double kRounding = 1e-9;

bool Exceeds(double current, double baseline, double allowance) {
  return current > baseline * (1 + allowance) * (1 + kRounding) + kRounding;
}

const Figures* Find(const std::vector<Figures>& benchmarks, const std::string& name) {
  for (const Figures& figures : benchmarks) {
    if (figures.name == name) return &figures;
  }
  return nullptr;
}

double WeightOf(const Site& site) { return site.allocations * 1e12 + site.bytes; }

bool IsSame(const Site& a, const Site& b) {
  return a.Calls() == b.Calls() && !Exceeds(WeightOf(a), WeightOf(b), 0) &&
         !Exceeds(WeightOf(b), WeightOf(a), 0);
}

// Removes one site from `sites` that is the same as `site`.
bool RemoveSame(const Site& site, std::vector<Site>* sites) {
  const auto found = std::find_if(sites->begin(), sites->end(),
                                  [&site](const Site& other) { return IsSame(site, other); });
  if (found == sites->end()) return false;
  sites->erase(found);
  return true;
}

// Subtracts the baseline's sites with the same calls.  Amounts that the baseline has in excess stay
// in `baseline`.
Site Grown(Site site, std::vector<Site>* baseline) {
  for (Site& was : *baseline) {
    if (was.Calls() != site.Calls()) continue;
    const double allocations = std::min(site.allocations, was.allocations);
    const double bytes = std::min(site.bytes, was.bytes);
    site.allocations -= allocations;
    site.bytes -= bytes;
    was.allocations -= allocations;
    was.bytes -= bytes;
  }
  return site;
}

// Subtracts from a growth the amounts that the same calls allocate less than in the baseline.  This
// is the case if they make fewer allocations of more bytes, or more allocations of fewer bytes.
void SubtractVanished(std::vector<Site>* baseline, Site* growth) {
  for (Site& was : *baseline) {
    if (was.Calls() != growth->Calls()) continue;
    growth->allocations -= was.allocations;
    growth->bytes -= was.bytes;
    was.allocations = was.bytes = 0;
  }
}

void SortByWeight(std::vector<Site>* sites) {
  std::stable_sort(sites->begin(), sites->end(),
                   [](const Site& a, const Site& b) { return WeightOf(a) > WeightOf(b); });
}

// Returns calls that may be the new one instead of `site`.  A baseline has no line numbers, so if
// two lines of one function allocate the same, either may be new.
std::vector<Frame> AlternativesTo(const Site& site, const std::vector<Site>& unchanged) {
  std::vector<Frame> alternatives;
  for (const Site& other : unchanged) {
    if (IsSame(site, other) && !other.frames.empty()) {
      alternatives.push_back(CallOfProgram(other));
    }
  }
  return alternatives;
}

// Fills in `responsible` and `vanished`.
void CompareSites(const Figures& baseline, const Figures& current, Judgement* judgement) {
  std::vector<Site> before = baseline.sites;
  std::vector<Site> unchanged;
  std::vector<Site> changed;
  for (const Site& site : current.sites) {
    (RemoveSame(site, &before) ? unchanged : changed).push_back(site);
  }
  std::vector<Site> grown;
  for (const Site& site : changed) {
    const Site growth = Grown(site, &before);
    if (WeightOf(growth) > kRounding) grown.push_back(growth);
  }
  for (Site& growth : grown) SubtractVanished(&before, &growth);
  SortByWeight(&grown);
  for (const Site& growth : grown) {
    judgement->responsible.push_back({growth, AlternativesTo(growth, unchanged)});
  }
  SortByWeight(&before);
  for (const Site& site : before) {
    if (WeightOf(site) > kRounding) judgement->vanished.push_back(site);
  }
  judgement->lacks_baseline_sites = baseline.sites.empty() && !current.sites.empty() &&
                                    baseline.values[kAllocations].value_or(0) > kRounding;
}

absl::Status Judge(const Figures& baseline, const Figures& current, const Allowance& allowance,
                   Comparison* comparison, Judgement* judgement) {
  for (int i = 0; i < kMetrics; ++i) {
    const Metric metric = static_cast<Metric>(i);
    if (!baseline.values[i].has_value()) continue;
    if (!current.values[i].has_value()) {
      return absl::InvalidArgumentError(baseline.name + " has no " + NameOf(metric) +
                                        ", which the baseline has");
    }
    const double was = *baseline.values[i];
    const double is = *current.values[i];
    ++comparison->compared_figures;
    if (Exceeds(was, is, 0)) ++comparison->shrunk_figures;
    const double allowed = metric == kInstructions ? allowance.instructions : allowance.allocations;
    if (Exceeds(is, was, allowed)) judgement->growths.push_back({metric, was, is});
  }
  if (judgement->growths.empty()) return absl::OkStatus();
  judgement->verdict = Verdict::kGrew;
  CompareSites(baseline, current, judgement);
  return absl::OkStatus();
}

}  // namespace

Frame CallOfProgram(const Site& site) {
  for (const Frame& frame : site.frames) {
    if (!frame.file.empty() && frame.file.rfind("/usr/", 0) != 0 &&
        frame.file.find("/include/c++/") == std::string::npos) {
      return frame;
    }
  }
  return site.frames.empty() ? Frame() : site.frames.front();
}

bool Comparison::passed() const {
  return std::all_of(judgements.begin(), judgements.end(), [](const Judgement& judgement) {
    return judgement.verdict == Verdict::kPassed;
  });
}

absl::StatusOr<Comparison> Compare(const std::vector<Figures>& baseline,
                                   const std::vector<Figures>& current,
                                   const Allowance& allowance) {
  Comparison comparison;
  for (const Figures& figures : baseline) {
    Judgement judgement;
    judgement.name = figures.name;
    if (const Figures* now = Find(current, figures.name); now == nullptr) {
      judgement.verdict = Verdict::kRemoved;
    } else if (absl::Status status = Judge(figures, *now, allowance, &comparison, &judgement);
               !status.ok()) {
      return status;
    }
    comparison.judgements.push_back(std::move(judgement));
  }
  for (const Figures& figures : current) {
    if (Find(baseline, figures.name) != nullptr) continue;
    Judgement& judgement = comparison.judgements.emplace_back();
    judgement.name = figures.name;
    judgement.verdict = Verdict::kAdded;
  }
  return comparison;
}

}  // namespace allomon::gate

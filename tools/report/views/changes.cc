#include "tools/report/views/changes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "tools/heap/join.h"
#include "tools/heap/sum_check.h"
#include "tools/report/views/diff_view.h"
#include "tracker/base/check.h"

namespace allomon::views {
namespace {

using heap::ChangeSums;

class Builder {
 public:
  Builder(const heap::HeapProfile& before, const heap::HeapProfile& after, const Options& options,
          const Measure& measure)
      : measure_(measure), before_samples_(before.samples.size()) {
    changes_.comparison.before = heap::SamplingOf(before, measure.metric);
    changes_.comparison.after = heap::SamplingOf(after, measure.metric);
    changes_.comparison.blocks = measure.blocks;
    changes_.joined = before;
    heap::AppendSamples(after, &changes_.joined);
    // Keeps only the last part of paths, because two builds may have been made in two folders.
    for (heap::Function& function : changes_.joined.functions) {
      function.file.erase(0, function.file.rfind('/') + 1);
    }
    changes_.stacks = heap::StacksOf(changes_.joined, options.selection);
    for (const heap::Stack& stack : changes_.stacks.stacks) {
      values_.push_back(SumsOf(stack));
      changes_.whole.Add(values_.back());
    }
    if (!options.metric.has_value()) AddOthers(before, after);
  }

  Changes Build(View view) {
    if (view == View::kTree || view == View::kCallers) {
      AddNodes(view == View::kTree ? heap::Direction::kCallees : heap::Direction::kCallers);
    } else {
      AddRows(view == View::kLines ? heap::RowKey::kLine : heap::RowKey::kFunction);
    }
    Judge();
    Sort();
    return std::move(changes_);
  }

 private:
  double Value(const heap::Estimate& estimate) const {
    return ValueOf(estimate.amount, measure_.blocks);
  }

  ChangeSums SumsOf(const heap::Stack& stack) const {
    return SumsOf(stack, measure_.metric, changes_.comparison);
  }
  ChangeSums SumsOf(const heap::Stack& stack, heap::Metric metric,
                    const heap::Comparison& comparison) const {
    const heap::Sample& sample = changes_.joined.samples[stack.sample];
    const heap::Amount& amount = sample[metric];
    return stack.sample < before_samples_ ? heap::BeforeOf(amount, sample, comparison)
                                          : heap::AfterOf(amount, sample, comparison);
  }

  // Churn changes the allocated amount alone, and nothing of the live one.
  void AddOthers(const heap::HeapProfile& before, const heap::HeapProfile& after) {
    std::vector<double> p_values, least;
    std::vector<OtherChange> others;
    for (const heap::Metric metric :
         {heap::Metric::kAllocated, heap::Metric::kPeak, heap::Metric::kLive}) {
      if (metric == measure_.metric || !Has(before, metric) || !Has(after, metric)) continue;
      heap::Comparison comparison;
      comparison.before = heap::SamplingOf(before, metric);
      comparison.after = heap::SamplingOf(after, metric);
      comparison.blocks = measure_.blocks;
      if (!comparison.IsTestable()) continue;
      OtherChange& other = others.emplace_back();
      other.metric = metric;
      for (const heap::Stack& stack : changes_.stacks.stacks) {
        other.sums.Add(SumsOf(stack, metric, comparison));
      }
      p_values.push_back(heap::PValue(other.sums, measure_.blocks));
      least.push_back(heap::LeastPValue(other.sums));
    }
    const std::vector<bool> marked = heap::MarkedRows(p_values, least, kFalseAlarms);
    for (size_t i = 0; i < others.size(); ++i) {
      const double size = std::max(Value(others[i].sums.before), Value(others[i].sums.after));
      const double difference = heap::Difference(others[i].sums, measure_.blocks);
      const bool is_large = std::fabs(difference) >= kLeastChange * size;
      if (marked[i] && is_large && difference != 0) changes_.others.push_back(others[i]);
    }
  }

  void Add(uint32_t frame, uint32_t node, const ChangeSums& sums) {
    if (Value(sums.before) == 0 && Value(sums.after) == 0) return;
    Change change;
    change.frame = frame;
    change.node = node;
    change.sums = sums;
    change.difference = heap::Difference(sums, measure_.blocks);
    changes_.rows.push_back(change);
  }

  void AddRows(heap::RowKey key) {
    const auto rows = heap::RowsOf(changes_.stacks, values_, key, [this](const ChangeSums& sums) {
      return Value(sums.before) + Value(sums.after);
    });
    ALLOMON_DCHECK("inv.heap.sum", RowsAddUp(rows));
    for (const auto& row : rows) Add(row.frame, 0, row.self);
  }

  bool RowsAddUp(const std::vector<heap::Row<ChangeSums>>& rows) const {
    heap::SumCheck before, after;
    ChangeSums whole;
    for (const ChangeSums& value : values_) whole.Add(value);
    for (const auto& row : rows) {
      before.Add(row.self.before.amount);
      after.Add(row.self.after.amount);
    }
    return before.Is(whole.before.amount) && after.Is(whole.after.amount);
  }

  void AddNodes(heap::Direction direction) {
    changes_.tree = heap::TreeOf(changes_.stacks, values_, direction);
    const auto& nodes = changes_.tree.nodes;
    for (uint32_t i = 1; i < nodes.size(); ++i) Add(nodes[i].frame, i, nodes[i].total);
  }

  void Judge() {
    std::vector<double> p_values;
    std::vector<double> least;
    for (Change& change : changes_.rows) {
      change.p_value = heap::PValue(change.sums, measure_.blocks);
      ALLOMON_DCHECK("inv.heap.probability", 0 <= change.p_value && change.p_value <= 1 + 1e-9);
      p_values.push_back(change.p_value);
      least.push_back(heap::LeastPValue(change.sums));
    }
    const std::vector<bool> marked = heap::MarkedRows(p_values, least, kFalseAlarms);
    for (size_t i = 0; i < changes_.rows.size(); ++i) {
      changes_.rows[i].outcome = OutcomeOf(changes_.rows[i], marked[i]);
    }
  }

  Outcome OutcomeOf(const Change& change, bool marked) const {
    if (change.difference == 0) return Outcome::kSame;
    if (!changes_.comparison.IsTestable()) return Outcome::kUnknown;
    if (!marked) return Outcome::kNoise;
    const double before = Value(change.sums.before);
    const double after = Value(change.sums.after);
    if (before == 0) return Outcome::kNew;
    if (after == 0) return Outcome::kGone;
    if (std::fabs(change.difference) < kLeastChange * std::max(before, after)) {
      return Outcome::kSlight;
    }
    return change.difference > 0 ? Outcome::kGrew : Outcome::kShrank;
  }

  auto NameOrder(const Change& change) const {
    const heap::Name& name = changes_.stacks.NameOf(change.frame);
    return std::tie(name.text, name.file, changes_.stacks.frames[change.frame].line, change.node);
  }

  void Sort() {
    std::sort(changes_.rows.begin(), changes_.rows.end(), [this](const Change& a, const Change& b) {
      if (a.IsMarked() != b.IsMarked()) return a.IsMarked();
      const double size_a = std::fabs(a.difference), size_b = std::fabs(b.difference);
      return size_a != size_b ? size_a > size_b : NameOrder(a) < NameOrder(b);
    });
  }

  const Measure measure_;
  const size_t before_samples_;
  Changes changes_;
  std::vector<ChangeSums> values_;
};

}  // namespace

bool Change::IsMarked() const {
  return outcome == Outcome::kGrew || outcome == Outcome::kShrank || outcome == Outcome::kNew ||
         outcome == Outcome::kGone;
}

Changes ChangesOf(const heap::HeapProfile& before, const heap::HeapProfile& after,
                  const Options& options, const Measure& measure, View view) {
  return Builder(before, after, options, measure).Build(view);
}

}  // namespace allomon::views

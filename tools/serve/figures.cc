#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/heap/labels.h"
#include "tools/load/recording/ended_scopes.h"
#include "tools/load/recording/label_table.h"
#include "tools/load/recording/profile_builder.h"
#include "tools/serve/metrics.h"

namespace allomon::serve {
namespace {

using recording::Process;
using recording::Shortage;
using recording::Sum;

Figures Of(const Sum& allocated, const Sum& live, const Sum& peak) {
  return {allocated.bytes,     allocated.blocks, live.bytes,
          live.blocks,         peak.bytes,       static_cast<double>(allocated.samples),
          /*outlived_bytes=*/0};
}

void AddTo(const Figures& more, Figures* sum) {
  sum->allocated_bytes += more.allocated_bytes;
  sum->allocated_blocks += more.allocated_blocks;
  sum->live_bytes += more.live_bytes;
  sum->live_blocks += more.live_blocks;
  sum->peak_bytes += more.peak_bytes;
  sum->samples += more.samples;
}

// Adds up the rows of a process by their sets of labels.
class SumsBySet {
 public:
  explicit SumsBySet(const Process& process) {
    std::vector<uint32_t> set_of_row;
    for (const Process::Row& row : process.rows) {
      const bool is_used = row.size_class != 0;
      set_of_row.push_back(is_used ? table_.Add(process.TextOf(row.labels)) : 0);
      if (is_used) AddTo(Of(row.allocated, row.live, row.peak), &sums_[set_of_row.back()]);
    }
    for (const auto& [set, sums] : sums_) sets_[set].labels = table_.CopyOf(set);
    AddOutlived(process, set_of_row);
  }

  std::set<std::string> Keys() const {
    std::set<std::string> keys;
    for (const auto& [set, sample] : sets_) {
      for (const heap::Label& label : sample.labels) keys.insert(label.key);
    }
    keys.erase(heap::kOtherLabels);  // its sets have lost their labels
    return keys;
  }

  std::map<std::string, Figures> ByValueOf(const std::string& key) const {
    std::map<std::string, Figures> values;
    for (const auto& [set, sample] : sets_) {
      Figures& sum = values[LabelText(heap::LabelValue(sample, key))];
      AddTo(sums_.at(set), &sum);
      for (const heap::OutlivedCell& cell : sample.outlived) {
        if (sample.labels[cell.label].key == key) sum.outlived_bytes += cell.since_end.amount.bytes;
      }
    }
    return values;
  }

 private:
  void AddOutlived(const Process& process, const std::vector<uint32_t>& set_of_row) {
    const recording::EndedScopes scopes(process);
    if (scopes.empty()) return;
    for (const recording::LiveBlock& block : process.live) {
      if (block.row == 0) continue;
      const Process::Row& row = process.rows[block.row - 1];
      scopes.AddCells(block, recording::WeightOf(block.size_bytes, row, process.record.rate),
                      &sets_[set_of_row[block.row - 1]]);
    }
  }

  recording::LabelTable table_;
  std::unordered_map<uint32_t, Figures> sums_;
  std::unordered_map<uint32_t, heap::Sample> sets_;  // samples that have only labels
};

LabelFigures Bounded(std::map<std::string, Figures> values) {
  LabelFigures figures;
  if (values.size() <= kMostValues) {
    figures.values = std::move(values);
    return figures;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [value, sums] : values) order.emplace_back(-sums.allocated_bytes, value);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < kMostValues; ++i) {
    figures.values[order[i].second] = values[order[i].second];
  }
  figures.left_out = values.size() - kMostValues;
  return figures;
}

std::map<std::string, LabelFigures> LabelsOf(const Process& process) {
  const SumsBySet sums(process);
  std::map<std::string, LabelFigures> labels;
  for (const std::string& key : sums.Keys()) {
    if (labels.size() == kMostKeys) break;
    labels[LabelText(key)] = Bounded(sums.ByValueOf(key));
  }
  return labels;
}

}  // namespace

ProcessFigures FiguresOf(const Process& process) {
  constexpr double kNanosPerSecond = 1e9;
  constexpr double kWordBytes = 8;
  const Process::Record& record = process.record;
  ProcessFigures figures;
  figures.sums = Of(record.allocated, record.live, record.peak);
  figures.dropped_samples = static_cast<double>(record.missing[Shortage::kSamples]);
  figures.dropped_bytes = static_cast<double>(record.missing[Shortage::kBytes]);
  figures.interval_bytes = kWordBytes / record.rate;
  figures.start_seconds = static_cast<double>(record.start_realtime_nanos) / kNanosPerSecond;
  figures.resident_bytes = static_cast<double>(record.memory.resident_bytes);
  figures.labels = LabelsOf(process);
  return figures;
}

}  // namespace allomon::serve

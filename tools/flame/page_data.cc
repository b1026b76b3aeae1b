#include <algorithm>
#include <map>

#include "tools/flame/frame_tree.h"
#include "tools/flame/json_text.h"
#include "tools/flame/page.h"
#include "tools/heap/born.h"
#include "tools/heap/heap_profile.h"
#include "tools/heap/missing.h"

namespace allomon::flame {
namespace {

using heap::Metric;

// In the order of the page.
constexpr Metric kOnPage[heap::kMetrics] = {Metric::kAllocated, Metric::kPeak,
                                            Metric::kLive,      Metric::kTemporary,
                                            Metric::kPromoted,  Metric::kDiedYoung};

bool AllHave(const std::vector<NamedProfile>& profiles, Metric metric) {
  return std::all_of(profiles.begin(), profiles.end(), [metric](const NamedProfile& named) {
    return heap::Has(named.profile, metric);
  });
}

bool AllHaveBlocks(const std::vector<NamedProfile>& profiles) {
  return std::all_of(profiles.begin(), profiles.end(),
                     [](const NamedProfile& named) { return named.profile.has_blocks; });
}

void WriteTimeline(const heap::HeapProfile& profile, JsonWriter* json) {
  json->Key("timeline").Begin('[');
  for (const heap::TimelinePoint& point : profile.timeline) {
    json->Number(point.seconds).Whole(point.allocated_bytes);
    json->Whole(point.live_bytes).Whole(std::max(point.most_live_bytes, point.live_bytes));
    json->Whole(point.resident_bytes);
  }
  json->End(']');
}

void WriteNotes(const heap::HeapProfile& profile, JsonWriter* json) {
  json->Key("notes").Begin('[');
  for (const std::string& note : profile.notes) json->String(note);
  json->End(']');
}

void WriteProfile(const NamedProfile& named, JsonWriter* json) {
  const heap::HeapProfile& profile = named.profile;
  json->Begin('{').Key("file").String(named.file).Key("origin").String(profile.origin);
  json->Key("program").String(profile.program).Key("command").String(profile.command);
  json->Key("pid").Whole(static_cast<double>(profile.pid));
  json->Key("startMillis").Whole(static_cast<double>(profile.start_unix_nanos) / 1e6);
  json->Key("seconds").Number(profile.duration_seconds);
  json->Key("peakSeconds").Number(profile.peak_seconds);
  json->Key("rate").Number(profile.rate);
  json->Key("missing").String(heap::MissingText(profile.missing));
  json->Key("isSum").Raw(profile.is_sum ? "true" : "false");
  WriteTimeline(profile, json);
  WriteNotes(profile, json);
  json->End('}');
}

void WriteProfiles(const char* key, const std::vector<NamedProfile>& profiles, JsonWriter* json) {
  json->Key(key).Begin('[');
  for (const NamedProfile& named : profiles) WriteProfile(named, json);
  json->End(']');
}

// Writes an array with a value of each item.
template <typename Items, typename ValueOf>
void WriteColumn(const char* key, const Items& items, const ValueOf& value_of, JsonWriter* json) {
  json->Key(key).Begin('[');
  for (const auto& item : items) json->Whole(value_of(item));
  json->End(']');
}

// Numbers strings, so that each is written once.
class StringTable {
 public:
  uint32_t NumberOf(const std::string& text) {
    const auto number = static_cast<uint32_t>(strings_.size());
    const auto [found, is_new] = numbers_.emplace(text, number);
    if (is_new) strings_.push_back(text);
    return found->second;
  }
  void Write(JsonWriter* json) const {
    json->Key("strings").Begin('[');
    for (const std::string& text : strings_) json->String(text);
    json->End(']');
  }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

void WriteFunctions(const std::vector<FrameFunction>& functions, JsonWriter* json) {
  StringTable strings;
  json->Key("functions").Begin('{');
  WriteColumn(
      "name", functions, [&](const auto& f) { return strings.NumberOf(f.name); }, json);
  WriteColumn(
      "file", functions, [&](const auto& f) { return strings.NumberOf(f.file); }, json);
  WriteColumn(
      "module", functions, [&](const auto& f) { return strings.NumberOf(f.module); }, json);
  WriteColumn(
      "line", functions, [](const auto& f) { return f.start_line; }, json);
  json->End('}');
  strings.Write(json);
}

// Writes parents as distances back, which are mostly 1.
void WriteNodes(const std::vector<FrameNode>& nodes, JsonWriter* json) {
  json->Key("nodes").Begin('{').Key("back").Begin('[');
  for (size_t i = 1; i < nodes.size(); ++i) json->Whole(static_cast<double>(i - nodes[i].parent));
  json->End(']').Key("frame").Begin('[');
  for (size_t i = 1; i < nodes.size(); ++i) {
    json->Whole(nodes[i].function * 2.0 + (nodes[i].inlined ? 1 : 0));
  }
  json->End(']').Key("line").Begin('[');
  for (size_t i = 1; i < nodes.size(); ++i) json->Whole(nodes[i].line);
  json->End(']').End('}');
}

// A leaf that has an amount of a metric.
struct Row {
  uint32_t node;
  const heap::Estimate* estimate;
};

std::vector<Row> RowsOf(const FrameTree& tree, size_t metric, Side side) {
  std::vector<Row> rows;
  for (const Leaf& leaf : tree.leaves()) {
    if (leaf.by_metric[side].empty()) continue;
    const heap::Estimate& estimate = leaf.by_metric[side][metric];
    // One without a sample may still widen its function's interval.
    if (estimate.amount.bytes == 0 && estimate.amount.blocks == 0 && estimate.most_bytes == 0) {
      continue;
    }
    rows.push_back({leaf.node, &estimate});
  }
  return rows;
}

// Of one process alone: ages are counted from its end, and the timeline is its own.
bool HasBirths(const Profiles& profiles) {
  if (profiles.shown.size() != 1 || !profiles.before.empty()) return false;
  const heap::HeapProfile& profile = profiles.shown[0].profile;
  return !profile.is_sum && !profile.pages.has_value() && !profile.contents.has_value() &&
         profile.timeline.size() > 1 && heap::Has(profile, Metric::kLive) &&
         std::any_of(profile.samples.begin(), profile.samples.end(),
                     [](const heap::Sample& sample) { return !sample.ages.empty(); });
}

void WriteRough(const char* key, const std::vector<Row>& rows, double heap::Estimate::*number,
                JsonWriter* json) {
  json->Key(key).Begin('[');
  for (const Row& row : rows) json->Rough(row.estimate->*number);
  json->End(']');
}

// The columns but for the amounts themselves.
void WriteColumns(const std::vector<Row>& rows, JsonWriter* json) {
  WriteColumn(
      "node", rows, [](const Row& row) { return row.node; }, json);
  WriteRough("bytesVariance", rows, &heap::Estimate::bytes_variance, json);
  WriteRough("blocksVariance", rows, &heap::Estimate::blocks_variance, json);
  WriteRough("bytesThird", rows, &heap::Estimate::bytes_third, json);
  WriteRough("blocksThird", rows, &heap::Estimate::blocks_third, json);
  WriteRough("bytesMost", rows, &heap::Estimate::most_bytes, json);
  WriteRough("blocksMost", rows, &heap::Estimate::most_blocks, json);
}

void WriteAmounts(const FrameTree& tree, size_t metric, Side side, JsonWriter* json) {
  const std::vector<Row> rows = RowsOf(tree, metric, side);
  json->Begin('{');
  WriteColumns(rows, json);
  WriteColumn(
      "bytes", rows, [](const Row& row) { return row.estimate->amount.bytes; }, json);
  WriteColumn(
      "blocks", rows, [](const Row& row) { return row.estimate->amount.blocks; }, json);
  json->End('}');
}

// Live blocks by their births: the classes of ages, youngest and oldest in turn, and rows with the
// numbers of their classes.
void WriteBirths(const FrameTree& tree, JsonWriter* json) {
  std::map<AgeClass, size_t> numbers;
  for (const Leaf& leaf : tree.leaves()) {
    for (const auto& [age_class, estimate] : leaf.births) numbers[age_class] = 0;
  }
  json->Key("births").Begin('{').Key("ages").Begin('[');
  size_t count = 0;
  for (auto& [age_class, number] : numbers) {
    number = count++;
    heap::AgeCell cell;
    cell.log2_nanos = age_class.first;
    cell.eighth = age_class.second;
    const heap::Born ages = heap::AgesOf(cell);
    json->Number(ages.youngest_seconds).Number(ages.oldest_seconds);
  }
  json->End(']');
  std::vector<Row> rows;
  std::vector<size_t> classes;
  for (const Leaf& leaf : tree.leaves()) {
    for (const auto& [age_class, estimate] : leaf.births) {
      rows.push_back({leaf.node, &estimate});
      classes.push_back(numbers[age_class]);
    }
  }
  WriteColumn(
      "age", classes, [](size_t number) { return number; }, json);
  WriteColumns(rows, json);
  // A class of one stack may have one block, which stands for a part more than one.
  const auto write = [&](const char* key, double heap::Amount::*number) {
    json->Key(key).Begin('[');
    for (const Row& row : rows) json->Number(row.estimate->amount.*number);
    json->End(']');
  };
  write("bytes", &heap::Amount::bytes);
  write("blocks", &heap::Amount::blocks);
  json->End('}');
}

// A process with pages or contents that are known has one metric, that of its live blocks.
const char* NameOf(Metric metric, const Profiles& profiles) {
  const heap::HeapProfile& profile = profiles.shown[0].profile;
  if (profile.pages.has_value()) return "hostage";
  return profile.contents.has_value() ? "unused" : heap::MetricName(metric);
}

// False if a rate is not known, or if a recording has lost something that the metric counts.
bool HaveIntervals(const std::vector<NamedProfile>& profiles, Metric metric) {
  return std::all_of(profiles.begin(), profiles.end(), [metric](const NamedProfile& named) {
    const heap::Sampling sampling = heap::SamplingOf(named.profile, metric);
    return sampling.IsKnown() && sampling.is_whole;
  });
}

void WriteMetrics(const FrameTree& tree, const Profiles& profiles, JsonWriter* json) {
  const bool is_comparison = !profiles.before.empty();
  json->Key("metrics").Begin('[');
  for (size_t i = 0; i < tree.metrics().size(); ++i) {
    const bool has_intervals = HaveIntervals(profiles.shown, tree.metrics()[i]) &&
                               HaveIntervals(profiles.before, tree.metrics()[i]);
    json->Begin('{')
        .Key("name")
        .String(NameOf(tree.metrics()[i], profiles))
        .Key("hasIntervals")
        .Raw(has_intervals ? "true" : "false")
        .Key("sides")
        .Begin('[');
    WriteAmounts(tree, i, kShown, json);
    if (is_comparison) WriteAmounts(tree, i, kBefore, json);
    json->End(']').End('}');
  }
  json->End(']');
}

absl::Status AddAll(const std::vector<NamedProfile>& profiles, Side side, FrameTree* tree) {
  for (const NamedProfile& named : profiles) {
    if (tree->Add(named.profile, side)) continue;
    return absl::ResourceExhaustedError(
        named.file + ": more stacks than a page can show; record with a lower --rate");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Metric> CommonMetrics(const Profiles& profiles) {
  std::vector<Metric> metrics;
  for (const Metric metric : kOnPage) {
    if (AllHave(profiles.shown, metric) && AllHave(profiles.before, metric)) {
      metrics.push_back(metric);
    }
  }
  return metrics;
}

absl::StatusOr<std::string> PageData(const Profiles& profiles, const PageChoices& choices) {
  FrameTree tree(CommonMetrics(profiles),
                 profiles.before.empty() ? FrameTree::Builds::kOne : FrameTree::Builds::kTwo);
  const bool has_births = HasBirths(profiles);
  if (has_births) tree.KeepBirths();
  absl::Status status = AddAll(profiles.shown, kShown, &tree);
  status.Update(AddAll(profiles.before, kBefore, &tree));
  if (!status.ok()) return status;
  const bool has_blocks = AllHaveBlocks(profiles.shown) && AllHaveBlocks(profiles.before);
  JsonWriter json;
  json.Begin('{')
      .Key("title")
      .String(choices.title)
      .Key("metric")
      .String(NameOf(choices.metric, profiles));
  json.Key("hasBlocks").Raw(has_blocks ? "true" : "false");
  WriteProfiles("shown", profiles.shown, &json);
  WriteProfiles("before", profiles.before, &json);
  WriteFunctions(tree.functions(), &json);
  WriteNodes(tree.nodes(), &json);
  WriteMetrics(tree, profiles, &json);
  if (has_births) WriteBirths(tree, &json);
  json.End('}');
  return json.TakeText();
}

}  // namespace allomon::flame

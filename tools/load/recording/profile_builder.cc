#include "tools/load/recording/profile_builder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "tools/heap/born.h"
#include "tools/heap/size_classes.h"
#include "tools/heap/sum_check.h"
#include "tools/load/recording/ended_scopes.h"
#include "tools/load/recording/recording_profile.h"
#include "tracker/base/check.h"
#include "tracker/formats/recording_weights.h"

namespace allomon::recording {
namespace {

using heap::Metric;

constexpr double kNanos = 1e9;
constexpr uint64_t kMostFramesOfAll = uint64_t{1} << 27;  // 512 MiB
constexpr uint64_t kLeastFrames = 16;
constexpr uint64_t kMostTypeBytes = uint64_t{256} << 20;  // in all samples
constexpr size_t kMostTypes = 16384;                      // four times a writer's

void SetHas(Metric metric, heap::HeapProfile* profile) {
  profile->has[static_cast<size_t>(metric)] = true;
}

Metric MetricOf(const Process::Event& event) {
  switch (static_cast<EventKind>(event.kind)) {
    case EventKind::kPromoted:
      return Metric::kPromoted;
    case EventKind::kDiedYoung:
      return Metric::kDiedYoung;
    case EventKind::kFreed:
      break;
  }
  return Metric::kTemporary;
}

bool IsOfMetric(const Process::Event& event, Metric metric) {
  return metric != Metric::kTemporary || event.log2_bytes < kTemporaryLog2Bytes;
}

std::vector<heap::TimelinePoint> TimelineOf(const Process& process) {
  std::vector<heap::TimelinePoint> points;
  for (size_t i = 0; i < process.timeline.size(); ++i) {
    const TimelinePoint& point = process.timeline[i];
    const uint64_t resident = i < process.resident.size() ? process.resident[i].bytes : 0;
    points.push_back({static_cast<double>(point.nanos) / kNanos,
                      static_cast<double>(point.allocated_bytes),
                      static_cast<double>(point.live_bytes),
                      static_cast<double>(point.most_live_bytes), static_cast<double>(resident)});
  }
  return points;
}

// Estimates a thread's words until its last sample.  For a thread that still runs, the exact count
// goes only so far.  The estimate also stands for t (1 - p) / p words after that sample.  A file
// without that figure has its mean: the estimate's variance divided by the estimate.
double WordsUntilLastSample(const Process::Thread& thread) {
  const double words = thread.estimated_words;
  if (thread.ended || words <= 0) return words;
  const double mean_excess = thread.estimated_words_variance / words;
  return std::max(0.0, words - (thread.excess_words > 0 ? thread.excess_words : mean_excess));
}

}  // namespace

void ProfileBuilder::Add(const Process& process, const RecordingOptions& options) {
  AddHead(process);
  AddThreads(process);
  const std::vector<TypedStack> stack_of = AddStacks(process);
  const std::vector<uint32_t> sample_of = AddRows(process, stack_of);
  AddEvents(process, sample_of);
  AddAges(process, SamplesOfLive(process, options, sample_of));
  AddOutlived(process, sample_of);
  if (options.find_held != nullptr) AddHeld(process, options.find_held, sample_of);
  if (options.find_unused != nullptr) AddUses(process, options.find_unused, sample_of);
  if (options.is_lost != nullptr) AddLost(process, options.is_lost, sample_of);
  for (const std::string& note : process.notes) profile_.notes.push_back(note);
}

namespace {

heap::HeapPages PagesOf(const Process::Record& record) {
  const HeapPages& stored = record.memory.heap;
  heap::HeapPages pages;
  using Known = heap::HeapPages::Known;
  constexpr Known kKnown[] = {Known::kNot, Known::kWhole, Known::kSincePart, Known::kOtherAllocator,
                              Known::kUnreadable};
  const auto known = static_cast<uint64_t>(stored.known);
  pages.known = known < std::size(kKnown) ? kKnown[known] : Known::kNot;
  // A child has blocks of its parent, which its recording has not.
  if (pages.known == Known::kWhole && record.is_forked) pages.known = Known::kSincePart;
  pages.live_bytes = static_cast<double>(stored.live_bytes);
  pages.free_bytes = static_cast<double>(stored.free_bytes);
  pages.kept_bytes = static_cast<double>(stored.kept_bytes);
  pages.sampled_free_bytes = static_cast<double>(stored.sampled_free_bytes);
  pages.file_bytes = static_cast<double>(stored.file_bytes);
  return pages;
}

}  // namespace

void ProfileBuilder::AddHead(const Process& process) {
  const Process::Record& record = process.record;
  profile_.missing.Add(MissingOf(record.missing));
  profile_.has_ends = profile_.has_ends || !process.scopes.empty();
  profile_.has_halves = profile_.has_halves || process.has_halves;
  profile_.is_sum = ++processes_ > 1;
  if (profile_.is_sum) {
    profile_.memory = {};
    return;
  }
  for (const Metric metric :
       {Metric::kAllocated, Metric::kLive, Metric::kPeak, Metric::kTemporary}) {
    SetHas(metric, &profile_);
  }
  profile_.origin = "recording";
  profile_.program = process.program;
  profile_.command = process.command;
  profile_.allocator = process.allocator;
  profile_.malloc_file = process.malloc_file;
  profile_.pid = record.pid;
  profile_.rate = record.rate;
  profile_.seed = record.seed;
  profile_.start_unix_nanos = static_cast<int64_t>(record.start_realtime_nanos);
  profile_.duration_seconds = static_cast<double>(record.last_nanos) / kNanos;
  profile_.peak_seconds = static_cast<double>(record.peak_nanos) / kNanos;
  profile_.memory = {static_cast<double>(record.memory.nanos) / kNanos,
                     static_cast<double>(record.memory.resident_bytes),
                     static_cast<double>(record.memory.live_bytes),
                     static_cast<double>(record.memory.most_resident_bytes), PagesOf(record)};
  profile_.timeline = TimelineOf(process);
}

void ProfileBuilder::AddThreads(const Process& process) {
  for (const Process::Thread& thread : process.threads) {
    if (thread.tid == 0) continue;
    heap::Thread added;
    added.name.assign(thread.name, strnlen(thread.name, sizeof(thread.name)));
    added.tid = thread.tid;
    added.exact_words = static_cast<double>(thread.exact_words);
    added.estimated_words = WordsUntilLastSample(thread);
    added.estimated_words_variance = thread.estimated_words_variance;
    added.allocated = AmountOf(thread.allocated);
    added.live = AmountOf(thread.live);
    profile_.threads.push_back(std::move(added));
  }
}

// Returns 0 for a type without a name, and for those that a hostile recording has beyond a limit.
uint32_t ProfileBuilder::TypeNumber(std::string_view name) {
  if (name.empty()) return 0;
  if (const auto known = type_numbers_.find(std::string(name)); known != type_numbers_.end()) {
    return known->second;
  }
  if (types_.size() > kMostTypes) return 0;
  const auto number = static_cast<uint32_t>(types_.size());
  types_.emplace_back(name);
  type_numbers_.emplace(name, number);
  return number;
}

// Returns the node in the tree for each node of the process, and the type that it tells.  Parents
// have smaller numbers.
std::vector<ProfileBuilder::TypedStack> ProfileBuilder::AddStacks(const Process& process) {
  const std::vector<uint32_t> location_of = locations_.Add(process);
  ALLOMON_DCHECK_EQ("inv.load.rows", location_of.size(), process.nodes.size());
  std::vector<TypedStack> node_of = {{0, 0}};
  node_of.reserve(process.nodes.size() + 1);
  tree_.Reserve(process.nodes.size());
  for (size_t i = 0; i < process.nodes.size(); ++i) {
    const Node& node = process.nodes[i];
    ALLOMON_DCHECK_LE("inv.load.tree", node.parent, i);
    if (node.kind == static_cast<uint8_t>(NodeKind::kType)) {
      node_of.push_back({node_of[node.parent].node, TypeNumber(process.NameOf(node))});
      continue;
    }
    const bool is_cut = node.parent == 0 && node.cut != 0;
    const uint32_t parent = is_cut ? tree_.Add(0, locations_.AddCut()) : node_of[node.parent].node;
    node_of.push_back({tree_.Add(parent, location_of[i]), 0});
  }
  return node_of;
}

heap::Sample& ProfileBuilder::SampleOf(const Key& key) {
  const auto [place, is_new] =
      index_of_.try_emplace(key, static_cast<uint32_t>(profile_.samples.size()));
  if (!is_new) return profile_.samples[place->second];
  keys_.push_back(key);
  heap::Sample& sample = profile_.samples.emplace_back();
  sample.has_size = true;
  sample.size_bytes = LeastSizeOf(static_cast<uint16_t>(key.size_class - 1));
  sample.has_header = key.has_header;
  sample.source = key.source;
  const std::string& type = types_[key.type];
  type_bytes_ += type.size();
  if (type_bytes_ <= kMostTypeBytes) sample.type = type;
  sample.labels = labels_.CopyOf(key.labels);
  return sample;
}

// Returns the sample of each row, by the row's number.
std::vector<uint32_t> ProfileBuilder::AddRows(const Process& process,
                                              const std::vector<TypedStack>& stack_of) {
  std::vector<uint32_t> sample_of = {0};
  sample_of.reserve(process.rows.size() + 1);
  for (const Process::Row& row : process.rows) {
    sample_of.push_back(0);
    if (row.size_class == 0) continue;
    const uint32_t labels = labels_.Add(process.TextOf(row.labels));
    heap::Sample& sample = SampleOf({stack_of[row.node].node, labels, row.size_class,
                                     HasHeader(row), SourceOf(row), stack_of[row.node].type});
    sample[Metric::kAllocated].Add(AmountOf(row.allocated));
    sample[Metric::kLive].Add(AmountOf(row.live));
    sample[Metric::kPeak].Add(AmountOf(row.peak));
    sample_of.back() = static_cast<uint32_t>(&sample - profile_.samples.data());
    if (!row.young) continue;
    SetHas(Metric::kPromoted, &profile_);
    SetHas(Metric::kDiedYoung, &profile_);
  }
  return sample_of;
}

void ProfileBuilder::AddEvents(const Process& process, const std::vector<uint32_t>& sample_of) {
  for (const Process::Event& event : process.events) {
    if (event.kind == 0) continue;
    ALLOMON_DCHECK_LT("inv.load.rows", event.row, sample_of.size());
    heap::Sample& sample = profile_.samples[sample_of[event.row]];
    const Metric metric = MetricOf(event);
    if (IsOfMetric(event, metric)) {
      sample[metric].Add(AmountOf(event.sum));
      SetHas(metric, &profile_);
    }
    if (metric != Metric::kPromoted) sample.deaths.push_back(LifetimeOf(event));
  }
}

std::vector<uint32_t> ProfileBuilder::SamplesOfLive(const Process& process,
                                                    const RecordingOptions& options,
                                                    const std::vector<uint32_t>& sample_of) {
  std::vector<uint32_t> sample_of_live;
  sample_of_live.reserve(process.live.size());
  for (const LiveBlock& block : process.live) {
    ALLOMON_DCHECK_LT("inv.load.rows", block.row, sample_of.size());
    sample_of_live.push_back(sample_of[block.row]);
    if (options.find_type == nullptr || block.row == 0) continue;
    const Process::Row& row = process.rows[block.row - 1];
    if (SourceOf(row) != heap::Source::kMalloc) continue;
    const auto number = static_cast<uint32_t>(sample_of_live.size());
    const uint32_t type = TypeNumber(options.find_type(process, number));
    if (type == 0) continue;
    profile_.knows_object_types = true;
    const heap::Amount amount = WeightOf(block.size_bytes, row, process.record.rate);
    Key key = keys_[sample_of_live.back()];
    key.type = type;
    SampleOf(key)[Metric::kLive].Add(amount);
    heap::Amount& rest = profile_.samples[sample_of_live.back()][Metric::kLive];
    rest.blocks = std::max(0.0, rest.blocks - amount.blocks);
    rest.bytes = std::max(0.0, rest.bytes - amount.bytes);
    sample_of_live.back() = index_of_.at(key);
  }
  return sample_of_live;
}

void ProfileBuilder::AddAges(const Process& process, const std::vector<uint32_t>& sample_of_live) {
  for (size_t i = 0; i < process.live.size(); ++i) {
    const LiveBlock& block = process.live[i];
    if (block.row == 0) continue;
    heap::Sample& sample = profile_.samples[sample_of_live[i]];
    sample.ages.push_back(AgeOf(process, block));
    if (keeps_numbers_) sample.live_numbers.push_back(static_cast<uint32_t>(i + 1));
    if (sample.source != heap::Source::kMalloc) continue;
    const Process::Row& row = process.rows[block.row - 1];
    sample.sizes.push_back(
        {block.size_bytes, WeightOf(block.size_bytes, row, process.record.rate), false});
  }
}

void ProfileBuilder::AddOutlived(const Process& process, const std::vector<uint32_t>& sample_of) {
  const EndedScopes scopes(process);
  if (scopes.empty()) return;
  for (const LiveBlock& block : process.live) {
    if (block.row == 0) continue;
    const heap::Amount amount =
        WeightOf(block.size_bytes, process.rows[block.row - 1], process.record.rate);
    scopes.AddCells(block, amount, &profile_.samples[sample_of[block.row]]);
  }
}

void ProfileBuilder::AddHeld(const Process& process, const FindHeld& find_held,
                             const std::vector<uint32_t>& sample_of) {
  for (uint32_t i = 0; i < process.live.size(); ++i) {
    const LiveBlock& block = process.live[i];
    if (block.row == 0) continue;
    const auto held = find_held(process, i + 1);
    if (!held.has_value()) continue;
    profile_.samples[sample_of[block.row]].held.push_back(HeldCellOf(process, block, *held));
  }
}

void ProfileBuilder::AddUses(const Process& process, const FindUnused& find_unused,
                             const std::vector<uint32_t>& sample_of) {
  for (uint32_t i = 0; i < process.live.size(); ++i) {
    const LiveBlock& block = process.live[i];
    if (block.row == 0) continue;
    const Process::Row& row = process.rows[block.row - 1];
    if (SourceOf(row) != heap::Source::kMalloc) continue;
    const auto unused = find_unused(process, i + 1);
    if (!unused.has_value()) continue;
    const heap::Amount stands_for = WeightOf(block.size_bytes, row, process.record.rate);
    profile_.samples[sample_of[block.row]].uses.push_back({static_cast<double>(block.size_bytes),
                                                           unused->untouched_bytes,
                                                           unused->zero_bytes, stands_for.blocks});
  }
}

void ProfileBuilder::AddLost(const Process& process, const IsLost& is_lost,
                             const std::vector<uint32_t>& sample_of) {
  profile_.knows_unreachable = true;
  for (uint32_t i = 0; i < process.live.size(); ++i) {
    const LiveBlock& block = process.live[i];
    if (block.row == 0 || !is_lost(process, i + 1)) continue;
    profile_.samples[sample_of[block.row]].unreachable.Add(
        WeightOf(block.size_bytes, process.rows[block.row - 1], process.record.rate));
  }
}

// Limits the frames per stack, so that the stacks of a hostile recording fit into memory.
uint64_t ProfileBuilder::MostFrames() {
  uint64_t frames = 0;
  for (const Key& key : keys_) frames += tree_.DepthOf(key.node);
  if (frames <= kMostFramesOfAll) return UINT64_MAX;
  profile_.notes.push_back("its stacks are too deep to be shown whole");
  return std::max(kLeastFrames, kMostFramesOfAll / keys_.size());
}

heap::HeapProfile ProfileBuilder::Finish() {
  ALLOMON_DCHECK_EQ("inv.load.rows", keys_.size(), profile_.samples.size());
  const uint64_t most = MostFrames();
  for (size_t i = 0; i < profile_.samples.size(); ++i) {
    heap::Sample& sample = profile_.samples[i];
    sample.stack = tree_.StackOf(keys_[i].node, most);
    Merge(&sample.deaths);
    Merge(&sample.ages);
    Merge(&sample.outlived);
    Merge(&sample.sizes);
  }
  locations_.Store(&profile_);
  if (labels_.is_full()) profile_.notes.push_back("it has too many labels: some are (other)");
  if (processes_ > 1) {
    profile_.notes.push_back("the sum of " + std::to_string(processes_) + " processes");
  }
  return std::move(profile_);
}

namespace {

static_assert(heap::kUnknownLog2 == kAgeUnknown);

constexpr uint8_t kManagedSource = 0;
constexpr uint8_t kUnmarshalledSource = 1;
constexpr uint8_t kCustomSource = 2;
constexpr uint8_t kMallocSource = 3;
constexpr uint64_t kWordBytes = 8;

uint8_t Log2(uint64_t value) {
  return value < 2 ? uint8_t{0} : static_cast<uint8_t>(63 - __builtin_clzll(value));
}

uint64_t Since(uint64_t then, uint64_t now) { return now > then ? now - then : 0; }

[[maybe_unused]] heap::Amount AmountOf(const std::vector<heap::AgeCell>& cells) {
  heap::Amount amount;
  for (const heap::AgeCell& cell : cells) amount.Add(cell.amount);
  return amount;
}

// More sizes than these of one row are texts and the like.  What matters of them is their sum.
constexpr size_t kMostSizes = 8;

// Replaces the sizes of each of the allocator's classes by two neighbours that have as many blocks
// and as many bytes.  Sizes beyond the classes stay.
void MergeClasses(std::vector<heap::SizeCell>* cells) {
  std::vector<heap::SizeCell> merged;
  for (size_t begin = 0, end = 0; begin < cells->size(); begin = end) {
    const uint64_t class_bytes = heap::ClassBytes((*cells)[begin].size_bytes);
    heap::Amount sum;
    for (end = begin; end < cells->size(); ++end) {
      if (heap::ClassBytes((*cells)[end].size_bytes) != class_bytes) break;
      sum.Add((*cells)[end].amount);
    }
    const double mean_bytes = std::floor(sum.bytes / sum.blocks);
    if (end - begin <= 2 || class_bytes > heap::kMostClassBytes || !(mean_bytes >= 1)) {
      merged.insert(merged.end(), cells->begin() + static_cast<ptrdiff_t>(begin),
                    cells->begin() + static_cast<ptrdiff_t>(end));
      continue;
    }
    const double larger_blocks = std::max(0.0, sum.bytes - mean_bytes * sum.blocks);
    const double smaller_blocks = sum.blocks - larger_blocks;
    const auto size_bytes = static_cast<uint64_t>(mean_bytes);
    merged.push_back({size_bytes, {smaller_blocks, smaller_blocks * mean_bytes}, true});
    if (larger_blocks <= 0) continue;
    merged.push_back({size_bytes + 1, {larger_blocks, larger_blocks * (mean_bytes + 1)}, true});
  }
  *cells = std::move(merged);
}

std::tuple<uint8_t, uint8_t, uint8_t, bool> AgeIn(const heap::AgeCell& cell) {
  return {cell.log2_bytes, cell.log2_nanos, cell.eighth, cell.other_thread};
}

}  // namespace

heap::Amount AmountOf(const Sum& sum) { return {sum.blocks, sum.bytes}; }

bool HasHeader(const Process::Row& row) { return row.source >= kMallocSource; }

heap::Source SourceOf(const Process::Row& row) {
  switch (row.source) {
    case kManagedSource:
      return heap::Source::kManaged;
    case kUnmarshalledSource:
      return heap::Source::kUnmarshalled;
    case kCustomSource:
      if (row.mapped == row.reported) return heap::Source::kCustomOrMapped;
      return row.mapped ? heap::Source::kMapped : heap::Source::kCustom;
    case kMallocSource:
      return heap::Source::kMalloc;
    default:
      return heap::Source::kUnknown;
  }
}

heap::Amount WeightOf(uint64_t size_bytes, const Process::Row& row, double rate) {
  const bool is_managed = row.source < kCustomSource;
  const double bytes = static_cast<double>(size_bytes) + (is_managed ? kWordBytes : 0);
  const double p = row.probability > 0 ? row.probability
                                       : ProbabilityOf(TrialWordsOf(size_bytes, row.source), rate);
  return {1 / p, bytes / p};
}

heap::AgeCell LifetimeOf(const Process::Event& event) {
  return {event.log2_bytes, event.log2_nanos, event.other_thread != 0, AmountOf(event.sum)};
}

heap::HeldCell HeldCellOf(const Process& process, const LiveBlock& block, const Held& held) {
  const uint8_t source = process.rows[block.row - 1].source;
  const double p = ProbabilityOf(TrialWordsOf(block.size_bytes, source), process.record.rate);
  const uint64_t end_nanos = std::max(process.record.last_nanos, block.birth_nanos);
  heap::HeldCell cell;
  cell.size_bytes = block.size_bytes;
  cell.block_bytes = held.block_bytes;
  cell.held_bytes = held.held_bytes;
  cell.age_seconds = static_cast<double>(end_nanos - block.birth_nanos) / kNanos;
  cell.weight = held.one_in / p - held.one_in + 1;
  return cell;
}

heap::AgeCell AgeOf(const Process& process, const LiveBlock& block) {
  const Process::Row& row = process.rows[block.row - 1];
  uint8_t log2_bytes = heap::kUnknownLog2;
  // The last thread's record stands for many threads, and so has no number of words.
  if (block.thread != 0 && block.thread < kMostThreads) {
    const uint64_t now_bytes = process.threads[block.thread - 1].exact_words * kWordBytes;
    log2_bytes = Log2(Since(block.birth_bytes, now_bytes));
  }
  const uint64_t nanos = Since(block.birth_nanos, process.record.last_nanos);
  return {log2_bytes, Log2(nanos), false, WeightOf(block.size_bytes, row, process.record.rate),
          heap::EighthOf(nanos)};
}

void Merge(std::vector<heap::AgeCell>* cells) {
  [[maybe_unused]] heap::SumCheck sum;
  if constexpr (internal::kDebugChecks) {
    for (const heap::AgeCell& cell : *cells) sum.Add(cell.amount);
  }
  std::sort(cells->begin(), cells->end(),
            [](const heap::AgeCell& a, const heap::AgeCell& b) { return AgeIn(a) < AgeIn(b); });
  size_t kept = 0;
  for (const heap::AgeCell& cell : *cells) {
    if (kept > 0 && AgeIn((*cells)[kept - 1]) == AgeIn(cell)) {
      (*cells)[kept - 1].amount.Add(cell.amount);
    } else {
      (*cells)[kept++] = cell;
    }
  }
  cells->resize(kept);
  cells->shrink_to_fit();
  ALLOMON_DCHECK("inv.heap.sum", sum.Is(AmountOf(*cells)));
}

void Merge(std::vector<heap::SizeCell>* cells) {
  std::sort(cells->begin(), cells->end(), [](const heap::SizeCell& a, const heap::SizeCell& b) {
    return a.size_bytes < b.size_bytes;
  });
  size_t kept = 0;
  for (const heap::SizeCell& cell : *cells) {
    if (kept > 0 && (*cells)[kept - 1].size_bytes == cell.size_bytes) {
      (*cells)[kept - 1].amount.Add(cell.amount);
    } else {
      (*cells)[kept++] = cell;
    }
  }
  cells->resize(kept);
  if (kept > kMostSizes) MergeClasses(cells);
  cells->shrink_to_fit();
}

}  // namespace allomon::recording

#include "tracker/formats/recording_records.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tracker/base/check.h"
#include "tracker/formats/recording_weights.h"

namespace allomon::recording {
namespace {

// Marks a value read between a subtraction and the addition that belongs to it. It is repaired to
// 0, like all values that are too large.
constexpr double kBelowZero = std::numeric_limits<double>::infinity();

constexpr double kMostBytes = static_cast<double>(uint64_t{1} << 62);

uint64_t WholeBytes(double bytes) { return static_cast<uint64_t>(std::min(bytes, kMostBytes)); }

uint64_t Less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

Sum CountOf(uint64_t blocks, uint64_t bytes) {
  return {blocks, static_cast<double>(blocks), static_cast<double>(bytes)};
}

Sum SumOf(const layout_1::Sum& stored) {
  Sum sum;
  sum.samples = stored.samples;
  sum.blocks = stored.blocks_scaled >> 63 != 0
                   ? kBelowZero
                   : static_cast<double>(stored.blocks_scaled) / layout_1::kBlockScale;
  sum.bytes = static_cast<double>(stored.bytes);
  return sum;
}

double NumberOf(const Wide& stored) {
  constexpr double kFraction = 1.0 / (uint64_t{1} << 32);
  return static_cast<double>(stored.whole) + static_cast<double>(stored.fraction) * kFraction;
}

Sum Scaled(const Sum& sum, double by) { return {sum.samples, sum.blocks * by, sum.bytes * by}; }

// The fields that all versions have.
template <typename Stored>
Head CommonHeadOf(const Stored& stored) {
  Head head;
  head.has_begun = stored.begun == 1;
  head.program = stored.program;
  Process::Record& record = head.record;
  record.pid = stored.pid;
  record.parent_pid = stored.parent_pid;
  record.ended = stored.ended != 0;
  record.is_forked = stored.is_forked != 0;
  record.lost = stored.lost != 0;
  record.start_realtime_nanos = stored.start_realtime_nanos;
  record.start_monotonic_nanos = stored.start_monotonic_nanos;
  record.seed = stored.seed;
  record.rate = stored.rate;
  record.callstack_size = stored.callstack_size;
  record.command = stored.command;
  record.last_nanos = stored.last_nanos;
  record.peak_nanos = stored.peak_nanos;
  return head;
}

template <typename Stored>
Process::Row CommonRowOf(const Stored& stored) {
  Process::Row row;
  row.node = stored.node;
  row.size_class = stored.size_class;
  row.source = stored.source;
  row.labels = stored.labels;
  return row;
}

template <typename Stored>
Process::Event CommonEventOf(const Stored& stored) {
  Process::Event event;
  event.row = stored.row;
  event.kind = stored.kind;
  event.other_thread = stored.other_thread;
  event.log2_bytes = stored.log2_bytes;
  event.log2_nanos = stored.log2_nanos;
  return event;
}

template <typename Stored>
Process::Thread CommonThreadOf(const Stored& stored) {
  Process::Thread thread;
  thread.tid = stored.tid;
  thread.ended = stored.ended != 0;
  std::memcpy(thread.name, stored.name, sizeof(thread.name));
  thread.exact_words = stored.exact_words;
  thread.estimated_words = static_cast<double>(stored.estimated_words);
  thread.estimated_words_variance = static_cast<double>(stored.estimated_words_variance);
  thread.first_nanos = stored.first_nanos;
  thread.last_nanos = stored.last_nanos;
  return thread;
}

// Computes the peak of a row whose counts are not weighed yet: the mean of the two moments.
Sum PeakOf(const Process::Row& row, const PeakSource& source,
           const std::vector<SavedCount>& saved) {
  const double q = HalfProbability(row.probability);
  ALLOMON_DCHECK("inv.formats.weight", 0 < q && q <= 1);
  Sum peak;
  for (const uint32_t number : source.saved) {
    if (number == PeakSource::kNoHalf || number == 0) continue;
    ALLOMON_DCHECK("inv.formats.number", number == PeakSource::kAsNow || number <= saved.size());
    const SavedCount count = number == PeakSource::kAsNow ? SavedCount{} : saved[number - 1];
    const Sum then = number == PeakSource::kAsNow ? row.live : CountOf(count.blocks, count.bytes);
    peak.samples = std::max(peak.samples, then.samples);
    peak.blocks += then.blocks / q / kHalves;
    peak.bytes += then.bytes / q / kHalves;
  }
  return peak;
}

}  // namespace

Head HeadOf(const ProcessRecord& stored) {
  Head head = CommonHeadOf(stored);
  head.allocator = stored.allocator;
  head.record.memory = stored.memory;
  head.counts = stored.records;
  for (uint32_t i = 0; i < kHalves; ++i) head.peak_epoch[i] = stored.peak_epoch[i];
  head.peak_bytes = static_cast<double>(stored.peak_bytes);
  for (uint32_t i = 0; i < kShortages; ++i) {
    head.record.missing[static_cast<Shortage>(i)] = stored.missing[i];
  }
  return head;
}

Head HeadOf(const layout_1::ProcessRecord& stored) {
  Head head = CommonHeadOf(stored);
  head.counts = {stored.records.nodes,
                 stored.records.rows,
                 stored.records.events,
                 stored.records.live,
                 stored.records.threads,
                 stored.records.timeline,
                 stored.records.modules,
                 stored.records.text_bytes,
                 /*saved=*/0,
                 /*scopes=*/0};
  head.peak_epoch[0] = stored.peak_epoch;
  head.record.allocated = SumOf(stored.allocated);
  head.record.live = SumOf(stored.live);
  head.record.peak = SumOf(stored.peak);
  head.peak_bytes = static_cast<double>(stored.peak.bytes);
  head.record.missing[Shortage::kSamples] = stored.dropped_samples;
  head.record.missing[Shortage::kBytes] = stored.dropped_bytes;
  return head;
}

Process::Row RowOf(const Row& stored, const Head& head) {
  Process::Row row = CommonRowOf(stored);
  row.young = (stored.flags & kYoung) != 0;
  row.mapped = (stored.flags & kMapped) != 0;
  row.reported = (stored.flags & kReported) != 0;
  row.allocated = CountOf(stored.blocks, stored.bytes);
  row.live =
      CountOf(Less(stored.blocks, stored.freed_blocks), Less(stored.bytes, stored.freed_bytes));
  ALLOMON_DCHECK("inv.formats.part",
                 row.live.blocks <= row.allocated.blocks && row.live.bytes <= row.allocated.bytes);
  if (row.size_class != 0 && row.size_class <= kMostSizeClass) {
    row.probability = RowProbability(row.size_class, row.source, (stored.flags & kGreatest) != 0,
                                     head.record.rate);
  }
  return row;
}

// For half i's peak, the counts come from the other half.
PeakSource PeakSourceOf(const Row& stored, const Head& head) {
  PeakSource source;
  for (uint32_t i = 0; i < kHalves; ++i) {
    if ((stored.flags & kOfHalf[kHalves - 1 - i]) == 0) continue;
    const bool is_saved = stored.peak_epoch[i] == head.peak_epoch[i];
    // Keeps an impossible number apart from the special values; it is repaired later.
    source.saved[i] =
        is_saved ? std::min(stored.saved[i], PeakSource::kNoHalf - 1) : PeakSource::kAsNow;
  }
  return source;
}

Process::Row RowOf(const layout_1::Row& stored, const Head& head) {
  Process::Row row = CommonRowOf(stored);
  row.young = stored.young != 0;
  row.allocated = SumOf(stored.allocated);
  row.live = SumOf(stored.live);
  row.peak = stored.peak_epoch == head.peak_epoch[0] ? SumOf(stored.saved) : row.live;
  return row;
}

Process::Event EventOf(const Event& stored) {
  Process::Event event = CommonEventOf(stored);
  event.sum = CountOf(stored.blocks, stored.bytes);
  return event;
}

Process::Event EventOf(const layout_1::Event& stored) {
  Process::Event event = CommonEventOf(stored);
  // Version 1 has no value for an unknown age.
  if (event.log2_bytes == kAgeUnknown) --event.log2_bytes;
  event.sum = SumOf(stored.sum);
  return event;
}

Process::Thread ThreadOf(const Thread& stored) {
  Process::Thread thread = CommonThreadOf(stored);
  thread.excess_words = stored.excess_words;
  // Dead blocks are at most the blocks that were born.
  const auto less = [](const Wide& a, const Wide& b) {
    return std::max(0.0, NumberOf(a) - NumberOf(b));
  };
  thread.allocated = {stored.samples, NumberOf(stored.blocks), NumberOf(stored.bytes)};
  thread.live = {Less(stored.samples, stored.freed_samples),
                 less(stored.blocks, stored.freed_blocks), less(stored.bytes, stored.freed_bytes)};
  ALLOMON_DCHECK("inv.formats.part", thread.live.blocks <= thread.allocated.blocks &&
                                         thread.live.bytes <= thread.allocated.bytes);
  return thread;
}

Process::Thread ThreadOf(const layout_1::Thread& stored) {
  Process::Thread thread = CommonThreadOf(stored);
  thread.allocated = SumOf(stored.allocated);
  thread.live = SumOf(stored.live);
  return thread;
}

void Weigh(const std::vector<PeakSource>& peaks, const std::vector<SavedCount>& saved,
           Process* process) {
  ALLOMON_DCHECK_EQ("inv.formats.lengths", peaks.size(), process->rows.size());
  Process::Record& record = process->record;
  for (size_t i = 0; i < process->rows.size(); ++i) {
    Process::Row& row = process->rows[i];
    if (row.size_class == 0) continue;
    ALLOMON_DCHECK("inv.formats.weight", 0 < row.probability && row.probability <= 1);
    row.peak = PeakOf(row, peaks[i], saved);
    row.allocated = Scaled(row.allocated, 1 / row.probability);
    row.live = Scaled(row.live, 1 / row.probability);
    record.allocated.Add(row.allocated);
    record.live.Add(row.live);
    record.peak.Add(row.peak);
  }
  for (Process::Event& event : process->events) {
    if (event.kind == 0) continue;
    ALLOMON_DCHECK("inv.formats.number", 0 < event.row && event.row <= process->rows.size());
    event.sum = Scaled(event.sum, 1 / process->rows[event.row - 1].probability);
  }
}

uint64_t LastNanos(const Process& process) {
  uint64_t last = process.record.last_nanos;
  for (const Process::Thread& thread : process.threads) last = std::max(last, thread.last_nanos);
  return last;
}

void AddPointOfNow(Process* process) {
  const Process::Record& record = process->record;
  const uint64_t before = process->timeline.empty() ? 0 : process->timeline.back().nanos;
  if (record.last_nanos <= before) return;
  const uint64_t live = WholeBytes(record.live.bytes);
  process->timeline.push_back({record.last_nanos, WholeBytes(record.allocated.bytes), live, live});
  if (!process->resident.empty()) process->resident.push_back({record.memory.resident_bytes});
}

}  // namespace allomon::recording

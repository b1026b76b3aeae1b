#include "tools/load/recording/ages.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tracker/formats/recording_weights.h"

namespace allomon::recording {
namespace {

static_assert(heap::kUnknownLog2 == kAgeUnknown);

constexpr uint8_t kCustomSource = 2;
constexpr uint8_t kMallocSource = 3;
constexpr uint64_t kWordBytes = 8;

uint8_t Log2(uint64_t value) {
  return value < 2 ? uint8_t{0} : static_cast<uint8_t>(63 - __builtin_clzll(value));
}

uint64_t Since(uint64_t then, uint64_t now) { return now > then ? now - then : 0; }

std::tuple<uint8_t, uint8_t, bool> AgeIn(const heap::AgeCell& cell) {
  return {cell.log2_bytes, cell.log2_nanos, cell.other_thread};
}

}  // namespace

heap::Amount AmountOf(const Sum& sum) { return {sum.blocks, sum.bytes}; }

bool HasHeader(const Process::Row& row) { return row.source >= kMallocSource; }

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

heap::AgeCell AgeOf(const Process& process, const LiveBlock& block) {
  const Process::Row& row = process.rows[block.row - 1];
  uint8_t log2_bytes = heap::kUnknownLog2;
  // The last thread's record stands for many threads, and so has no number of words.
  if (block.thread != 0 && block.thread < kMostThreads) {
    const uint64_t now_bytes = process.threads[block.thread - 1].exact_words * kWordBytes;
    log2_bytes = Log2(Since(block.birth_bytes, now_bytes));
  }
  return {log2_bytes, Log2(Since(block.birth_nanos, process.record.last_nanos)), false,
          WeightOf(block.size_bytes, row, process.record.rate)};
}

void Merge(std::vector<heap::AgeCell>* cells) {
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
}

}  // namespace allomon::recording

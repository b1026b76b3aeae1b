#include "tools/recording/ages.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace allomon::recording {
namespace {

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

heap::Amount AmountOf(const Sum& sum) {
  return {static_cast<double>(sum.blocks_scaled) / kBlockScale, static_cast<double>(sum.bytes)};
}

bool HasHeader(const Row& row) { return row.source >= kMallocSource; }

heap::Amount WeightOf(uint64_t size_bytes, const Row& row, double rate) {
  const bool is_managed = row.source < kCustomSource;
  const double bytes = static_cast<double>(size_bytes) + (is_managed ? kWordBytes : 0);
  const double words = std::ceil(bytes / kWordBytes) + HasHeader(row);
  const double p = rate >= 1 ? 1 : -std::expm1(words * std::log1p(-rate));
  if (p <= 0) return {};
  return {std::round(kBlockScale / p) / kBlockScale, std::round(bytes / p)};
}

heap::AgeCell LifetimeOf(const Event& event) {
  return {event.log2_bytes, event.log2_nanos, event.other_thread != 0, AmountOf(event.sum)};
}

heap::AgeCell AgeOf(const Process& process, const LiveBlock& block) {
  const Row& row = process.rows[block.row - 1];
  const uint64_t now_bytes =
      block.thread == 0 ? 0 : process.threads[block.thread - 1].exact_words * kWordBytes;
  return {Log2(Since(block.birth_bytes, now_bytes)),
          Log2(Since(block.birth_nanos, process.record.last_nanos)), false,
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

#include "tools/load/recording/held_blocks.h"

#include <algorithm>

#include "tracker/formats/recording_weights.h"

namespace allomon::recording {

heap::HeldCell HeldCellOf(const Process& process, const LiveBlock& block, const Held& held) {
  constexpr double kNanos = 1e9;
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

}  // namespace allomon::recording

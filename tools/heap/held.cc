#include "tools/heap/held.h"

#include <algorithm>
#include <string>

namespace allomon::heap {
namespace {

// No block is as large, and at a rate that would give such a weight no block is sampled.  The
// powers of their product are finite.
constexpr double kMostBytes = 1e17;
constexpr double kMostWeight = 1e10;

bool IsOfPython(const std::string& name) {
  return name.compare(0, 2, "Py") == 0 || name.compare(0, 3, "_Py") == 0;
}

}  // namespace

Estimate SumOver(double weight, double bytes_each, bool is_whole) {
  // A hostile process may have written anything.
  const Amount bounded = Bounded({weight, bytes_each});
  weight = std::clamp(bounded.blocks, 1.0, kMostWeight);
  bytes_each = std::clamp(bounded.bytes, 0.0, kMostBytes);
  const double slope = weight - 1;
  Estimate estimate;
  estimate.amount = {weight, weight * bytes_each};
  estimate.sampled = 1;
  estimate.blocks_variance = weight * slope;
  estimate.bytes_variance = bytes_each * bytes_each * estimate.blocks_variance;
  estimate.blocks_third = estimate.blocks_variance * slope;
  estimate.bytes_third = estimate.bytes_variance * bytes_each * slope;
  if (slope > 0) estimate.most_blocks = weight;
  if (slope > 0) estimate.most_bytes = estimate.amount.bytes;
  estimate.is_whole = is_whole;
  return estimate;
}

Estimate HeldBy(const HeldCell& cell, bool is_whole) {
  return SumOver(cell.weight, cell.held_bytes, is_whole);
}

Estimate HeldBy(const Sample& sample, bool is_whole) {
  Estimate sum;
  sum.is_whole = is_whole;
  for (const HeldCell& cell : sample.held) sum.Add(HeldBy(cell, is_whole));
  return sum;
}

Estimate UnusedBy(const Sample& sample, bool is_whole) {
  Estimate sum;
  sum.is_whole = is_whole;
  for (const UseCell& cell : sample.uses) {
    sum.Add(SumOver(cell.weight, cell.untouched_bytes + cell.zero_bytes, is_whole));
  }
  return sum;
}

bool MayBeInArena(const HeapProfile& profile, const Sample& sample) {
  return std::any_of(sample.stack.begin(), sample.stack.end(), [&profile](uint32_t number) {
    if (number >= profile.locations.size()) return false;
    const Location& location = profile.locations[number];
    if (IsInterpreted(profile, location)) return true;
    return std::any_of(location.lines.begin(), location.lines.end(), [&profile](const Line& line) {
      return line.function < profile.functions.size() &&
             IsOfPython(profile.functions[line.function].name);
    });
  });
}

void WeighArenas(HeapProfile* profile) {
  for (Sample& sample : profile->samples) {
    if (sample.held.empty() || !MayBeInArena(*profile, sample)) continue;
    for (HeldCell& cell : sample.held) {
      if (cell.size_bytes <= kMostArenaBytes) cell.weight = 1;
    }
  }
}

}  // namespace allomon::heap

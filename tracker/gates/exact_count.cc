#include "tracker/gates/exact_count.h"

#include <new>

#include "tracker/base/check.h"
#include "tracker/base/link_malloc.h"

namespace allomon::internal {

const char kNothingReports[] =
    "this program's malloc does not report its allocations: " ALLOMON_LINK_MALLOC;

Losses LossesOf(TrackerId id) {
  const auto statistics = Tracker::statistics(id);
  if (!statistics.ok()) return {};
  return {statistics->dropped_blocks, statistics->callback_exceptions};
}

std::string DescribeLosses(const Losses& before, const Losses& after) {
  ALLOMON_DCHECK_LE("inv.gates.losses", before.dropped_blocks, after.dropped_blocks);
  ALLOMON_DCHECK_LE("inv.gates.losses", before.callback_exceptions, after.callback_exceptions);
  const uint64_t dropped = after.dropped_blocks - before.dropped_blocks;
  const uint64_t thrown = after.callback_exceptions - before.callback_exceptions;
  if (dropped + thrown == 0) return "";
  return std::to_string(dropped + thrown) +
         " blocks could not be counted: more than 16 million lived at once, or memory ran out";
}

void AllocateProbe() {
  void* probe = ::operator new(1);
  asm volatile("" : "+r"(probe) : : "memory");
  ::operator delete(probe);
}

}  // namespace allomon::internal

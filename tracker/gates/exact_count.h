// Code shared by scopes and the benchmarks' memory manager: a tracker at rate 1, which sees every
// block and enters it into a ledger.
#ifndef ALLOMON_TRACKER_GATES_EXACT_COUNT_H_
#define ALLOMON_TRACKER_GATES_EXACT_COUNT_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tracker/gates/ledger.h"
#include "tracker/tracker.h"

namespace allomon::internal {

// Kept with each counted block for as long as it lives.
struct CountedBlock {
  std::shared_ptr<Ledger> ledger;
  Callstack callstack;
  uint64_t size_bytes;
};

// A tracker of tracker.h, for every heap.  LedgerOf is a function object that returns the ledger
// for an allocation (a shared_ptr, null for no ledger).
template <typename LedgerOf>
struct ExactCounter {
  LedgerOf ledger_of;

  std::optional<CountedBlock> alloc_major(const Allocation& allocation) {
    std::shared_ptr<Ledger> ledger = ledger_of(allocation);
    if (ledger == nullptr) return std::nullopt;
    ledger->Enter(allocation);
    return CountedBlock{std::move(ledger), allocation.callstack, allocation.size_bytes};
  }
  std::optional<CountedBlock> alloc_minor(const Allocation& allocation) {
    return alloc_major(allocation);
  }
  std::optional<CountedBlock> promote(CountedBlock block) { return block; }
  void dealloc_major(CountedBlock block) { block.ledger->Leave(block.callstack, block.size_bytes); }
  void dealloc_minor(CountedBlock block) { dealloc_major(std::move(block)); }
};

// Starts a tracker that sees every block, in addition to the trackers that sample already.
template <typename LedgerOf>
absl::StatusOr<TrackerId> StartExactCounter(LedgerOf ledger_of) {
  StartOptions options;
  options.callstack_size = 1024;  // uncut, so that the outermost frames can be compared
  options.concurrent = true;
  return Tracker::start(1, ExactCounter<LedgerOf>{std::move(ledger_of)}, options);
}

// The blocks that a tracker was not able to count since its start.
struct Losses {
  uint64_t dropped_blocks = 0;
  uint64_t callback_exceptions = 0;
};
Losses LossesOf(TrackerId id);

// Describes in one line the blocks lost between `before` and `after`; "" if there are no losses.
std::string DescribeLosses(const Losses& before, const Losses& after);

// Allocates a byte and frees it, in a way that the compiler cannot remove.
void AllocateProbe();

// Error text for a program whose malloc does not report.
extern const char kNothingReports[];

}  // namespace allomon::internal

#endif  // ALLOMON_TRACKER_GATES_EXACT_COUNT_H_

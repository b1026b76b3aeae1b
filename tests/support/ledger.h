// A tracker that writes down every callback, and checks the order of each block's callbacks.
#ifndef ALLOMON_TESTS_SUPPORT_LEDGER_H_
#define ALLOMON_TESTS_SUPPORT_LEDGER_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "tracker/tracker.h"

namespace allomon::testing {

// Shared by the trackers below, which are moved into the library.
struct Ledger {
  struct Block {
    Allocation allocation;
    int allocs = 0;
    int deallocs = 0;
  };

  std::mutex mutex;
  std::map<int, Block> blocks;  // indexed by serial number
  int next = 0;
  bool out_of_order = false;

  int Open(const Allocation& allocation) {
    std::lock_guard<std::mutex> hold(mutex);
    Block& block = blocks[next];
    block.allocation = allocation;
    block.allocs = 1;
    return next++;
  }

  void Close(int serial) {
    std::lock_guard<std::mutex> hold(mutex);
    Block& block = blocks[serial];
    out_of_order |= block.allocs != 1 || block.deallocs != 0;
    ++block.deallocs;
  }

  int Live() {
    std::lock_guard<std::mutex> hold(mutex);
    int live = 0;
    for (const auto& [serial, block] : blocks) live += block.deallocs == 0 ? 1 : 0;
    return live;
  }

  uint64_t Samples() {
    std::lock_guard<std::mutex> hold(mutex);
    uint64_t samples = 0;
    for (const auto& [serial, block] : blocks) samples += block.allocation.n_samples;
    return samples;
  }

  HeapEstimate Allocated() {
    std::lock_guard<std::mutex> hold(mutex);
    HeapEstimate estimate;
    for (const auto& [serial, block] : blocks) estimate.Add(block.allocation);
    return estimate;
  }
};

// Follows every block to its end.
class LedgerTracker {
 public:
  explicit LedgerTracker(Ledger* ledger) : ledger_(ledger) {}
  std::optional<int> alloc_major(const Allocation& allocation) { return ledger_->Open(allocation); }
  void dealloc_major(int serial) { ledger_->Close(serial); }

 private:
  Ledger* ledger_;
};

}  // namespace allomon::testing

#endif  // ALLOMON_TESTS_SUPPORT_LEDGER_H_
